// SPDX-License-Identifier: MIT
//
// Bench.java - the worker of Redisson's: its own objects as they are shipped,
// nothing set but the address.

import bench.Worker;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

import org.redisson.Redisson;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class Bench implements Worker.Store {
    private RedissonClient redisson;

    private Bench() {}

    public static void main(String[] args) throws IOException {
        Worker.run(new Bench());
    }

    @Override
    public String open(String uri) throws IOException {
        var config = new Config();
        config.useSingleServer().setAddress(uri);
        redisson = Redisson.create(config);
        return Worker.version(Redisson.class, "org.redisson/redisson");
    }

    @Override
    public void close() {
        if (redisson != null)
            redisson.shutdown(0, 2, TimeUnit.SECONDS);
    }

    @Override
    public void prepare(String kind, String name, int permits) {
        if (kind.equals("semaphore"))
            redisson.getSemaphore(name).trySetPermits(permits);
        if (kind.equals("permit"))
            redisson.getPermitExpirableSemaphore(name).trySetPermits(permits);
    }

    @Override
    public Worker.Pair pair(String kind, String name) {
        switch (kind) {
        case "lock":
            return new Locked(redisson.getLock(name));
        case "fair":
            return new Locked(redisson.getFairLock(name));
        case "read":
            return new Locked(redisson.getReadWriteLock(name).readLock());
        case "semaphore":
            return new Counted(redisson.getSemaphore(name));
        case "permit":
            return new Leased(redisson.getPermitExpirableSemaphore(name));
        default:
            throw new IllegalArgumentException(kind);
        }
    }

    private record Locked(Lock lock) implements Worker.Pair {
        @Override
        public void take() {
            lock.lock();
        }

        @Override
        public void give() {
            lock.unlock();
        }
    }

    private record Counted(RSemaphore semaphore) implements Worker.Pair {
        @Override
        public void take() throws InterruptedException {
            semaphore.acquire();
        }

        @Override
        public void give() {
            semaphore.release();
        }
    }

    private static final class Leased implements Worker.Pair {
        private final RPermitExpirableSemaphore semaphore;
        private String id;

        Leased(RPermitExpirableSemaphore semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        public void take() throws InterruptedException {
            id = semaphore.acquire();
        }

        @Override
        public void give() {
            semaphore.release(id);
        }
    }
}
