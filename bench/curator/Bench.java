// SPDX-License-Identifier: MIT
//
// Bench.java - the worker of Curator's: its own locks as they are shipped.

import bench.Worker;

import java.io.IOException;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class Bench implements Worker.Store {
    private CuratorFramework curator;

    private Bench() {}

    public static void main(String[] args) throws IOException {
        Worker.run(new Bench());
    }

    // zk://HOST:PORT
    @Override
    public String open(String uri) throws Exception {
        curator = CuratorFrameworkFactory.newClient(
            uri.split("//", 2)[1].split("/", 2)[0],
            new ExponentialBackoffRetry(1000, 3));
        curator.start();
        curator.blockUntilConnected();
        return Worker.version(InterProcessMutex.class,
                              "org.apache.curator/curator-recipes");
    }

    @Override
    public void close() {
        if (curator != null)
            curator.close();
    }

    @Override
    public void prepare(String kind, String name, int permits) {}

    @Override
    public Worker.Pair pair(String kind, String name) {
        switch (kind) {
        case "lock":
            return new Locked(new InterProcessMutex(curator, "/" + name));
        case "read":
            return new Locked(new InterProcessReadWriteLock(
                curator, "/" + name).readLock());
        default:
            throw new IllegalArgumentException(kind);
        }
    }

    private record Locked(InterProcessLock lock) implements Worker.Pair {
        @Override
        public void take() throws Exception {
            lock.acquire();
        }

        @Override
        public void give() throws Exception {
            lock.release();
        }
    }
}
