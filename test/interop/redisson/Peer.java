// SPDX-License-Identifier: MIT
//
// Peer.java - Redisson itself, told what to do line by line.
//
//     open URI [lease_ms=N] [fair_ms=N]    lockWatchdogTimeout,
//                                          fairLockWaitTimeout; what was open
//                                          is closed first
//     NOUN VERB ARGUMENT… NAME             the tables below are the list
//     contend NOUN FILE THREADS ROUNDS NAME     see support/guarded.h
//     master PORT                          of sentinels and clusters: does it
//                                          take the server there for one?
//
// and what ../java/peer/Lines.java understands.  Times are in milliseconds, a lease
// of -1 is kept up by the watchdog.
//
// Compiled once, against the newest Redisson: Java looks for a method when it
// is called, so that older libraries serve with what they have.

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static peer.Words.count;
import static peer.Words.get;
import static peer.Words.number;
import static peer.Words.run;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.redisson.Redisson;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.api.redisnode.RedisNode;
import org.redisson.api.redisnode.RedisNodes;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.ShardedSubscriptionMode;

import peer.Guarded;
import peer.Lines;
import peer.Words.Noun;
import peer.Words.Verb;

public final class Peer {
    private static RedissonClient redisson;

    private Peer() {}

    // ---- the words -------------------------------------------------------

    private static final Map<String, Verb<RLock>> LOCK = Map.of(
        "lock", run(0, (lock, w) -> lock.lock()),
        "lockfor", run(1, (lock, w) -> lock.lock(number(w[0]), MILLISECONDS)),
        "patient", run(0, (lock, w) -> lock.lockInterruptibly()),
        "try", get(0, (lock, w) -> lock.tryLock()),
        "timed", get(2, (lock, w) -> lock.tryLock(number(w[0]), number(w[1]),
                                                  MILLISECONDS)),
        "unlock", run(0, (lock, w) -> lock.unlock()),
        "force", get(0, (lock, w) -> lock.forceUnlock()),
        "locked", get(0, (lock, w) -> lock.isLocked()),
        "holds", get(0, (lock, w) -> lock.getHoldCount()),
        "ttl", get(0, (lock, w) -> lock.remainTimeToLive()));

    // The fenced lock again, for those who want to know the token.
    private static final Map<String, Verb<RFencedLock>> TOKEN = Map.of(
        "lock", get(0, (lock, w) -> lock.lockAndGetToken()),
        "lockfor", get(1, (lock, w) -> lock.lockAndGetToken(number(w[0]),
                                                            MILLISECONDS)),
        "try", get(0, (lock, w) -> lock.tryLockAndGetToken()),
        "timed", get(2, (lock, w) -> lock.tryLockAndGetToken(
                     number(w[0]), number(w[1]), MILLISECONDS)),
        "get", get(0, (lock, w) -> lock.getToken()));

    // A wait of 0 tries once, one of -1 has no end.
    private static boolean acquire(RSemaphore sem, int n, long wait)
            throws InterruptedException {
        if (wait == 0)
            return sem.tryAcquire(n);
        if (wait > 0)
            return sem.tryAcquire(n, Duration.ofMillis(wait));
        sem.acquire(n);
        return true;
    }

    private static final Map<String, Verb<RSemaphore>> SEM = Map.of(
        "set", get(1, (sem, w) -> sem.trySetPermits(count(w[0]))),
        "setfor", get(2, (sem, w) -> sem.trySetPermits(
                      count(w[0]), Duration.ofMillis(number(w[1])))),
        "acquire", get(2, (sem, w) -> acquire(sem, count(w[0]), number(w[1]))),
        "release", run(1, (sem, w) -> sem.release(count(w[0]))),
        "give", get(1, (sem, w) -> sem.releaseIfExists(count(w[0]))),
        "add", run(1, (sem, w) -> sem.addPermits(count(w[0]))),
        "drain", get(0, (sem, w) -> sem.drainPermits()),
        "free", get(0, (sem, w) -> sem.availablePermits()),
        "delete", get(0, (sem, w) -> sem.delete()));

    // Ids, or null.  One alone is asked for in the way that older versions
    // have too.
    private static List<String> acquire(RPermitExpirableSemaphore sem, int n,
                                        long wait, long lease)
            throws InterruptedException {
        if (n > 1 && wait < 0)
            return sem.acquire(n, lease, MILLISECONDS);
        if (n > 1)
            return sem.tryAcquire(n, wait, lease, MILLISECONDS);
        var id = wait < 0 ? sem.acquire(lease, MILLISECONDS) :
                            sem.tryAcquire(wait, lease, MILLISECONDS);
        return id == null ? List.of() : List.of(id);
    }

    private static void release(RPermitExpirableSemaphore sem, String ids) {
        if (ids.contains(","))
            sem.release(List.of(ids.split(",")));
        else
            sem.release(ids);
    }

    private static final Map<String, Verb<RPermitExpirableSemaphore>> PERMIT =
        Map.ofEntries(
            Map.entry("set", get(1, (sem, w) ->
                sem.trySetPermits(count(w[0])))),
            Map.entry("resize", run(1, (sem, w) ->
                sem.setPermits(count(w[0])))),
            Map.entry("add", run(1, (sem, w) -> sem.addPermits(count(w[0])))),
            Map.entry("acquire", get(3, (sem, w) ->
                acquire(sem, count(w[0]), number(w[1]), number(w[2])))),
            Map.entry("release", run(1, (sem, w) -> release(sem, w[0]))),
            Map.entry("tryrelease", get(1, (sem, w) ->
                sem.tryRelease(w[0]))),
            Map.entry("extend", get(2, (sem, w) ->
                sem.updateLeaseTime(w[0], number(w[1]), MILLISECONDS))),
            Map.entry("lease", get(1, (sem, w) -> sem.getLeaseTime(w[0]))),
            Map.entry("free", get(0, (sem, w) -> sem.availablePermits())),
            Map.entry("leased", get(0, (sem, w) -> sem.acquiredPermits())),
            Map.entry("total", get(0, (sem, w) -> sem.getPermits())),
            Map.entry("delete", get(0, (sem, w) -> sem.delete())));

    private static final Map<String, Verb<RCountDownLatch>> LATCH = Map.of(
        "set", get(1, (latch, w) -> latch.trySetCount(number(w[0]))),
        "down", run(0, (latch, w) -> latch.countDown()),
        "count", get(0, (latch, w) -> latch.getCount()),
        "await", run(0, (latch, w) -> latch.await()),
        "timed", get(1, (latch, w) -> latch.await(number(w[0]),
                                                  MILLISECONDS)),
        "delete", get(0, (latch, w) -> latch.delete()));

    private static Map<String, Noun<?>> nouns(RedissonClient r) {
        return Map.ofEntries(
            Map.entry("lock", new Noun<>(r::getLock, LOCK)),
            Map.entry("once", new Noun<>(n -> r.getNonReentrantLock(n), LOCK)),
            Map.entry("fair", new Noun<>(r::getFairLock, LOCK)),
            Map.entry("spin", new Noun<>(r::getSpinLock, LOCK)),
            Map.entry("read", new Noun<>(
                n -> r.getReadWriteLock(n).readLock(), LOCK)),
            Map.entry("write", new Noun<>(
                n -> r.getReadWriteLock(n).writeLock(), LOCK)),
            Map.entry("fenced", new Noun<>(n -> r.getFencedLock(n), LOCK)),
            Map.entry("token", new Noun<>(n -> r.getFencedLock(n), TOKEN)),
            Map.entry("sem", new Noun<>(r::getSemaphore, SEM)),
            Map.entry("permit", new Noun<>(
                r::getPermitExpirableSemaphore, PERMIT)),
            Map.entry("latch", new Noun<>(r::getCountDownLatch, LATCH)));
    }

    private static Map<String, Noun<?>> nouns;

    // ---- lines -----------------------------------------------------------

    public static void main(String[] args) throws IOException {
        new Lines(Peer::obey, Peer::waits).listen();
        shut();
        System.exit(0);
    }

    private static Object obey(String[] words) throws Exception {
        switch (words[0]) {
        case "open":
            return open(words[1], words.length > 2 ? words[2] : "");
        case "master":
            return masters.get().anyMatch(
                node -> node.getAddr().getPort() == count(words[1]));
        case "contend":
            return contend(words[1], words[2].split(" ", 4));
        default:
            return nouns.get(words[0]).obey(words[1], words[2]);
        }
    }

    // A message that comes a moment earlier, between Redisson's last question
    // and its sleep, may be lost on it.  It sleeps in a semaphore or in
    // a latch of its own, or it spins; for an answer it waits elsewhere.
    private static boolean waits(List<StackTraceElement> where) {
        return where.stream().anyMatch(
            frame -> frame.getClassName().endsWith(".Semaphore") ||
                frame.getClassName().endsWith(".ReclosableLatch") ||
                frame.getMethodName().equals("sleep"));
    }

    // The addresses are ours: redis://HOST, redis+sentinel://HOST,…/MASTER or
    // redis+cluster://HOST,…, the last perhaps with ?sharded=on or off.
    // Few threads and connections: it starts sooner.
    private static String open(String uri, String settings) {
        var config = new Config().setThreads(4).setNettyThreads(2);
        for (var setting : settings.split(" ")) {
            var value = setting.substring(setting.indexOf('=') + 1);
            if (setting.startsWith("lease_ms="))
                config.setLockWatchdogTimeout(number(value));
            else if (setting.startsWith("fair_ms="))
                config.setFairLockWaitTimeout(number(value));
        }
        if (uri.startsWith("redis+sentinel:"))
            find(config.useSentinelServers(), uri);
        else if (uri.startsWith("redis+cluster:"))
            find(config.useClusterServers(), uri);
        else
            config.useSingleServer().setAddress(uri)
                .setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1);
        shut();
        redisson = Redisson.create(config);
        nouns = nouns(redisson);
        return "OK";
    }

    private static void shut() {
        if (redisson != null)
            redisson.shutdown(0, 2, TimeUnit.SECONDS);
    }

    // Between "//" and the next '/' or '?'.
    private static String[] hosts(String uri) {
        var list = uri.split("//", 2)[1].split("[/?]", 2)[0];
        return Stream.of(list.split(",")).map(host -> "redis://" + host)
            .toArray(String[]::new);
    }

    // How often it looks for another master is a second by default, and five
    // in a cluster.
    private static final int LOOK_MS = 500;

    private static Supplier<Stream<? extends RedisNode>> masters;

    private static void find(SentinelServersConfig servers, String uri) {
        masters = () -> Stream.of(
            redisson.getRedisNodes(RedisNodes.SENTINEL_MASTER_SLAVE)
                .getMaster());
        few(servers.addSentinelAddress(hosts(uri))
            .setMasterName(uri.substring(uri.lastIndexOf('/') + 1))
            .setScanInterval(LOOK_MS));
    }

    private static void find(ClusterServersConfig servers, String uri) {
        masters = () ->
            redisson.getRedisNodes(RedisNodes.CLUSTER).getMasters().stream();
        few(servers.addNodeAddress(hosts(uri)).setScanInterval(LOOK_MS));
        var at = uri.indexOf("?sharded=");
        if (at >= 0)
            servers.setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(
                uri.substring(uri.indexOf('=', at) + 1).toUpperCase()));
    }

    private static void few(BaseMasterSlaveServersConfig<?> servers) {
        servers.setMasterConnectionMinimumIdleSize(1)
            .setSlaveConnectionMinimumIdleSize(1)
            .setSubscriptionConnectionMinimumIdleSize(1);
    }

    // ---- the guarded counter ---------------------------------------------

    private static String contend(String noun, String[] words)
            throws Exception {
        var guarded = new Guarded(Path.of(words[0]));
        var lock = (RLock) nouns.get(noun).named().apply(words[3]);
        guarded.contend(count(words[1]), count(words[2]), () -> {
            if (lock instanceof RFencedLock fenced)
                guarded.ordered(fenced.lockAndGetToken());
            else
                lock.lock();
            guarded.inside();
            lock.unlock();
        });
        return "OK";
    }
}
