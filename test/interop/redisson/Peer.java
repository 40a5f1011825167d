// SPDX-License-Identifier: MIT
//
// Peer.java - Redisson's own locks, told what to do line by line.
//
//     open URI [lease_ms=N]            N: lockWatchdogTimeout
//     lock NAME                        trylock WAIT_MS LEASE_MS NAME
//     unlock NAME                      forceunlock NAME
//     fenced NAME                      lockAndGetToken, its token
//     islocked NAME                    holdcount NAME
//     wait NAME                        another thread; see below
//     contend FILE NAME THREADS ROUNDS (see support/guarded.h)
//     quit                             or the end of input
//
// The lines, the answers and their words are those of hf-peer, so that a test
// talks to either in the same way.  A lease of -1 is kept up by the watchdog.
// Names come last because there may be spaces in them.
//
// All calls are made by one thread, and so by one owner.  `wait` is made by a
// thread of its own, which enters, leaves at once and says "ENTERED"; nothing
// is answered before.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;

import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class Peer {
    private static final PrintStream OUT =
        new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private static RedissonClient redisson;

    private Peer() {}

    public static void main(String[] args) throws IOException {
        var in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = in.readLine(); line != null && !line.equals("quit");
             line = in.readLine())
            answer(line);
        if (redisson != null)
            redisson.shutdown(0, 2, TimeUnit.SECONDS);
        System.exit(0);
    }

    private static void answer(String line) {
        try {
            var cut = (line + " ").indexOf(' ');
            var rest = line.substring(Math.min(cut + 1, line.length()));
            var said = obey(line.substring(0, cut), rest);
            if (said != null)
                OUT.println(said);
        } catch (IllegalMonitorStateException e) {
            OUT.println("NOT_OWNER");
        } catch (Exception e) {
            OUT.println("EXCEPTION " + e);
        }
    }

    private static String obey(String word, String rest) throws Exception {
        switch (word) {
        case "open":
            return open(rest.split(" "));
        case "lock":
            redisson.getLock(rest).lock();
            return "OK";
        case "trylock":
            return tryLock(rest.split(" ", 3));
        case "unlock":
            redisson.getLock(rest).unlock();
            return "OK";
        case "forceunlock":
            return redisson.getLock(rest).forceUnlock() ? "OK" : "FREE";
        case "fenced":
            return "OK " + redisson.getFencedLock(rest).lockAndGetToken();
        case "islocked":
            return "OK " + (redisson.getLock(rest).isLocked() ? 1 : 0);
        case "holdcount":
            return "OK " + redisson.getLock(rest).getHoldCount();
        case "wait":
            new Thread(() -> enterAndLeave(rest)).start();
            return null;
        case "contend":
            return contend(rest.split(" "));
        default:
            return "USAGE";
        }
    }

    // Few threads and connections: it starts sooner.
    private static String open(String[] words) {
        var config = new Config().setThreads(2).setNettyThreads(2);
        var key = "lease_ms=";
        for (var word : words)
            if (word.startsWith(key))
                config.setLockWatchdogTimeout(
                    Long.parseLong(word.substring(key.length())));
        config.useSingleServer().setAddress(words[0])
            .setConnectionMinimumIdleSize(1)
            .setSubscriptionConnectionMinimumIdleSize(1);
        redisson = Redisson.create(config);
        return "OK";
    }

    private static String tryLock(String[] words) throws InterruptedException {
        var wait = Long.parseLong(words[0]);
        var lease = Long.parseLong(words[1]);
        var lock = redisson.getLock(words[2]);
        if (lock.tryLock(wait, lease, TimeUnit.MILLISECONDS))
            return "OK";
        return wait == 0 ? "BUSY" : "TIMEOUT";
    }

    private static void enterAndLeave(String name) {
        var lock = redisson.getLock(name);
        lock.lock();
        lock.unlock();
        OUT.println("ENTERED");
    }

    // ---- the guarded counter ---------------------------------------------

    private static String contend(String[] words) throws Exception {
        var guarded = new Guarded(Path.of(words[0]));
        var lock = redisson.getFencedLock(words[1]);
        var threads = new Thread[Integer.parseInt(words[2])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(
                () -> guarded.enter(lock, Integer.parseInt(words[3])));
            threads[i].start();
        }
        for (var thread : threads)
            thread.join();
        return "OK";
    }

    // struct hf_test_guarded, as C sees it.
    private static final class Guarded {
        private static final int COUNTER = 0, LAST_TOKEN = 8, INSIDE = 16,
            OVERLAPS = 20, DISORDERS = 24, FAILURES = 28, SIZE = 32;
        private static final VarHandle LONGS =
            MethodHandles.byteBufferViewVarHandle(long[].class,
                                                  ByteOrder.nativeOrder());
        private static final VarHandle INTS =
            MethodHandles.byteBufferViewVarHandle(int[].class,
                                                  ByteOrder.nativeOrder());
        private final ByteBuffer at;

        Guarded(Path file) throws IOException {
            try (var channel = FileChannel.open(file, StandardOpenOption.READ,
                                                StandardOpenOption.WRITE)) {
                at = channel.map(FileChannel.MapMode.READ_WRITE, 0, SIZE);
            }
        }

        private void count(int what, int n) {
            INTS.getAndAdd(at, what, n);
        }

        void enter(RFencedLock lock, int rounds) {
            for (int i = 0; i < rounds; i++) {
                try {
                    var token = lock.lockAndGetToken();
                    inside(token);
                    lock.unlock();
                } catch (RuntimeException e) {
                    count(FAILURES, 1);
                }
            }
        }

        private void inside(long token) {
            if ((int) INTS.getAndAdd(at, INSIDE, 1) != 0)
                count(OVERLAPS, 1);
            if (token <= (long) LONGS.getAndSet(at, LAST_TOKEN, token))
                count(DISORDERS, 1);
            var seen = (long) LONGS.getVolatile(at, COUNTER);
            Thread.yield();
            LONGS.setVolatile(at, COUNTER, seen + 1);
            count(INSIDE, -1);
        }
    }
}
