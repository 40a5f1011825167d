// SPDX-License-Identifier: MIT
//
// Peer.java - Curator itself, told what to do line by line.
//
//     open URI [session_ms=N]              zk://HOST:PORT,…/PATH as ours; the
//                                          path becomes Curator's namespace
//     NOUN VERB ARGUMENT… NAME             the tables below are the list
//     contend NOUN FILE THREADS ROUNDS NAME        see support/guarded.h
//     crowd FILE THREADS ROUNDS LIMIT NAME         the same for "sem", of
//                                          which LIMIT may be in together
//
// and what ../java/peer/Lines.java understands.  Times are in milliseconds;
// a wait of 0 tries once, one of -1 has no end.
//
// Curator's objects are kept, one for each name: who holds is in them.

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static peer.Words.count;
import static peer.Words.get;
import static peer.Words.number;
import static peer.Words.run;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.Function;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;

import peer.Guarded;
import peer.Lines;
import peer.Words.Noun;
import peer.Words.Verb;

public final class Peer {
    private static CuratorFramework curator;
    private static Map<String, Noun<?>> nouns;

    private Peer() {}

    // One object for each name.
    private static <T> Function<String, T> kept(Function<String, T> made) {
        var all = new ConcurrentHashMap<String, T>();
        return name -> all.computeIfAbsent(name, n -> made.apply("/" + n));
    }

    // What Curator throws is checked, and it throws nothing of use here.
    private interface Risky<T> {
        T make() throws Exception;
    }

    private static <T> T made(Risky<T> risky) {
        try {
            return risky.make();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    // ---- locks -----------------------------------------------------------

    private static boolean acquire(InterProcessLock lock, long wait)
            throws Exception {
        if (wait >= 0)
            return lock.acquire(wait, MILLISECONDS);
        lock.acquire();
        return true;
    }

    // The last parts of the paths, in the order of the line.
    private static List<String> names(Collection<String> paths) {
        return paths.stream().map(p -> p.substring(p.lastIndexOf('/') + 1))
            .toList();
    }

    private static final Map<String, Verb<InterProcessLock>> LOCK = Map.of(
        "lock", run(0, (lock, w) -> acquire(lock, -1)),
        "try", get(0, (lock, w) -> acquire(lock, 0)),
        "timed", get(1, (lock, w) -> acquire(lock, number(w[0]))),
        "unlock", run(0, (lock, w) -> lock.release()),
        "held", get(0, (lock, w) -> lock.isAcquiredInThisProcess()),
        "nodes", get(0, (lock, w) ->
            names(((InterProcessMutex) lock).getParticipantNodes())));

    // ---- permits ---------------------------------------------------------

    // Leases that this process has; of whichever thread.
    private static final class Permits {
        private final InterProcessSemaphoreV2 sem;
        private final ArrayDeque<Lease> leases = new ArrayDeque<>();

        Permits(InterProcessSemaphoreV2 sem) {
            this.sem = sem;
        }

        boolean acquire(int n, long wait) throws Exception {
            Collection<Lease> got = wait < 0 ? sem.acquire(n) :
                sem.acquire(n, wait, MILLISECONDS);
            if (got == null)
                return false;
            synchronized (leases) {
                leases.addAll(got);
            }
            return true;
        }

        void release(int n) {
            var back = new ArrayList<Lease>();
            synchronized (leases) {
                for (int i = 0; i < n; i++)
                    back.add(leases.remove());
            }
            sem.returnAll(back);
        }
    }

    private static final Map<String, Verb<Permits>> SEM = Map.of(
        "acquire", get(2, (p, w) -> p.acquire(count(w[0]), number(w[1]))),
        "release", run(1, (p, w) -> p.release(count(w[0]))),
        "nodes", get(0, (p, w) -> names(p.sem.getParticipantNodes())));

    // ---- numbers ---------------------------------------------------------

    // A SharedCount, which is what a latch of ours is, and the number of
    // a semaphore.
    private static final class Number implements SharedCountListener {
        final SharedCount count;

        Number(String path) {
            count = new SharedCount(curator, path, 0);
            count.addListener(this);
            made(() -> {
                count.start();
                return null;
            });
        }

        @Override
        public synchronized void countHasChanged(SharedCountReader reader,
                                                 int now) {
            notifyAll();
        }

        @Override
        public void stateChanged(CuratorFramework c, ConnectionState state) {}

        void add(int n) throws Exception {
            for (var seen = count.getVersionedValue();
                 !count.trySetCount(seen, seen.getValue() + n);)
                seen = count.getVersionedValue();
        }

        synchronized void await() throws InterruptedException {
            while (count.getCount() > 0)
                wait();
        }
    }

    private static final Map<String, Verb<Number>> NUMBER = Map.of(
        "set", run(1, (n, w) -> n.count.setCount(count(w[0]))),
        "get", get(0, (n, w) -> n.count.getCount()),
        "add", run(1, (n, w) -> n.add(count(w[0]))),
        "await", run(0, (n, w) -> n.await()));

    // ---- leaders ---------------------------------------------------------

    // A LeaderSelector, which is an InterProcessMutex with an audience.
    private static final class Leader {
        private final Semaphore told = new Semaphore(0);
        private final LeaderSelector selector;

        Leader(String path) {
            selector = new LeaderSelector(curator, path,
                new LeaderSelectorListenerAdapter() {
                    @Override
                    public void takeLeadership(CuratorFramework c)
                            throws InterruptedException {
                        told.acquire();
                    }
                });
            selector.setId("curator");
        }
    }

    private static final Map<String, Verb<Leader>> LEADER = Map.of(
        "join", run(0, (l, w) -> l.selector.start()),
        "leads", get(0, (l, w) -> l.selector.hasLeadership()),
        "resign", run(0, (l, w) -> l.told.release()),
        "who", get(0, (l, w) -> l.selector.getLeader().getId()),
        "count", get(0, (l, w) -> l.selector.getParticipants().size()));

    // ---- nodes, bare -----------------------------------------------------

    private static final Map<String, Verb<String>> NODE = Map.of(
        "children", get(0, (path, w) ->
            curator.getChildren().forPath(path).stream().sorted().toList()),
        "data", get(0, (path, w) ->
            new String(curator.getData().forPath(path),
                       StandardCharsets.UTF_8)),
        "exists", get(0, (path, w) ->
            curator.checkExists().forPath(path) != null),
        "czxid", get(0, (path, w) ->
            curator.checkExists().forPath(path).getCzxid()),
        "create", run(0, (path, w) ->
            curator.create().creatingParentsIfNeeded()
                .forPath(path, new byte[0])),
        "delete", run(0, (path, w) -> curator.delete().forPath(path)));

    private static Map<String, Noun<?>> nouns() {
        Function<String, InterProcessReadWriteLock> rw =
            kept(path -> new InterProcessReadWriteLock(curator, path));
        Function<String, Number> numbers =
            kept(path -> new Number(path + "/count"));
        return Map.of(
            "lock", new Noun<>(
                kept(path -> new InterProcessMutex(curator, path)), LOCK),
            "once", new Noun<>(
                kept(path -> new InterProcessSemaphoreMutex(curator, path)),
                LOCK),
            "read", new Noun<>(name -> rw.apply(name).readLock(), LOCK),
            "write", new Noun<>(name -> rw.apply(name).writeLock(), LOCK),
            "sem", new Noun<>(
                kept(path -> new Permits(new InterProcessSemaphoreV2(
                    curator, path, numbers.apply(path.substring(1)).count))),
                SEM),
            "number", new Noun<>(numbers, NUMBER),
            "leader", new Noun<>(kept(Leader::new), LEADER),
            "node", new Noun<>(name -> "/" + name, NODE));
    }

    // ---- lines -----------------------------------------------------------

    public static void main(String[] args) throws IOException {
        new Lines(Peer::obey, Peer::waits).listen();
        if (curator != null)
            curator.close();
        System.exit(0);
    }

    private static Object obey(String[] words) throws Exception {
        switch (words[0]) {
        case "open":
            return open(words[1], words.length > 2 ? words[2] : "");
        case "contend":
            return contend(words[1], words[2].split(" ", 4));
        case "crowd":
            return crowd(words[1], words[2].split(" ", 4));
        default:
            return nouns.get(words[0]).obey(words[1], words[2]);
        }
    }

    // Curator waits for its turn in these, and for an answer in ClientCnxn.
    private static boolean waits(List<StackTraceElement> where) {
        return where.stream().anyMatch(
                   frame -> frame.getMethodName().equals("internalLockLoop") ||
                       frame.getMethodName().equals("internalAcquire1Lease") ||
                       frame.getClassName().equals("Peer$Number")) &&
            where.stream().noneMatch(
                frame -> frame.getClassName().endsWith(".ClientCnxn") ||
                    frame.getClassName().endsWith(".CuratorZookeeperClient"));
    }

    private static String open(String uri, String settings)
            throws InterruptedException {
        var rest = uri.split("//", 2)[1].split("\\?", 2)[0].split("/", 2);
        var session = settings.startsWith("session_ms=") ?
            count(settings.substring("session_ms=".length())) : 60000;
        if (curator != null)
            curator.close();
        curator = CuratorFrameworkFactory.builder()
            .connectString(rest[0])
            .namespace(rest.length > 1 ? rest[1] : "")
            .sessionTimeoutMs(session)
            .connectionTimeoutMs(10000)
            .retryPolicy(new RetryNTimes(20, 100))
            .build();
        curator.start();
        nouns = nouns();
        return curator.blockUntilConnected(20000, MILLISECONDS) ? "OK" :
            "EXCEPTION no connection";
    }

    // ---- the guarded counter ---------------------------------------------

    private static String contend(String noun, String[] words)
            throws Exception {
        var guarded = new Guarded(Path.of(words[0]));
        var lock = (InterProcessLock) nouns.get(noun).named().apply(words[3]);
        guarded.contend(count(words[1]), count(words[2]), () -> {
            lock.acquire();
            try {
                guarded.inside();
            } finally {
                lock.release();
            }
        });
        return "OK";
    }

    private static String crowd(String file, String[] words) throws Exception {
        var guarded = new Guarded(Path.of(file));
        var sem = ((Permits) nouns.get("sem").named().apply(words[3])).sem;
        guarded.contend(count(words[0]), count(words[1]), () -> {
            var lease = sem.acquire();
            try {
                guarded.together(count(words[2]));
            } finally {
                sem.returnLease(lease);
            }
        });
        return "OK";
    }
}
