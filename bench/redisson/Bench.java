// SPDX-License-Identifier: MIT
//
// Bench.java - the worker of Redisson's: its own objects as they are shipped,
// nothing set but the address.  The lines and words are those of worker.h.

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
import java.util.Properties;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

import org.redisson.Redisson;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class Bench {
    private static final PrintStream OUT =
        new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private static RedissonClient redisson;
    private static Row row;

    private Bench() {}

    public static void main(String[] args) throws IOException {
        var in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = in.readLine(); line != null; line = in.readLine()) {
            try {
                var said = obey(line.split(" "));
                if (said != null)
                    OUT.println(said);
            } catch (Exception e) {
                OUT.println("FAILED " + e);
            }
        }
        if (redisson != null)
            redisson.shutdown(0, 2, TimeUnit.SECONDS);
        System.exit(0);
    }

    private static String obey(String[] words) throws Exception {
        switch (words[0]) {
        case "open":
            return open(words[1]);
        case "row":
            row = new Row(words);
            return row.begin();
        case "go":
            row.gate.await();
            return null;
        case "stop":
            return row.stop();
        default:
            return "FAILED what is: " + words[0];
        }
    }

    private static String open(String uri) throws IOException {
        var config = new Config();
        config.useSingleServer().setAddress(uri);
        redisson = Redisson.create(config);
        var about = new Properties();
        try (var in = Redisson.class.getResourceAsStream(
                 "/META-INF/maven/org.redisson/redisson/pom.properties")) {
            if (in != null)
                about.load(in);
        }
        return "OK " + about.getProperty("version", "?") + ", Java " +
            System.getProperty("java.version");
    }

    // ---- one row ----------------------------------------------------------

    private static final class Row {
        private final String kind, name;
        private final int process, threads, sectionUs, permits;
        private final boolean own;
        private final Turns turns; // null: several may be in at once
        private final Member[] members;
        final CyclicBarrier gate;
        private final AtomicReference<Throwable> trouble =
            new AtomicReference<>();
        private volatile boolean over;

        Row(String[] words) throws IOException {
            kind = words[1];
            process = Integer.parseInt(words[2]);
            threads = Integer.parseInt(words[3]);
            sectionUs = Integer.parseInt(words[4]);
            permits = Integer.parseInt(words[5]);
            own = words[6].equals("1");
            name = words[7];
            turns = !own && (kind.equals("lock") || kind.equals("fair"))
                ? new Turns(Path.of(words[8])) : null;
            members = new Member[threads];
            gate = new CyclicBarrier(threads + 1);
        }

        String begin() throws Exception {
            if (kind.equals("semaphore"))
                redisson.getSemaphore(name).trySetPermits(permits);
            if (kind.equals("permit"))
                redisson.getPermitExpirableSemaphore(name)
                    .trySetPermits(permits);
            for (int i = 0; i < threads; i++) {
                members[i] = new Member(process * threads + i);
                members[i].start();
            }
            gate.await();
            if (trouble.get() == null)
                return "READY";
            over = true;
            gate.await();
            return "FAILED " + trouble.get();
        }

        String stop() throws InterruptedException {
            over = true;
            var said = new StringBuilder();
            long all = 0;
            for (var member : members) {
                member.join();
                all += member.all;
                said.append(' ').append(member.counted);
            }
            if (trouble.get() != null)
                return "FAILED " + trouble.get();
            return "DONE " + all + said;
        }

        private final class Member extends Thread {
            private final int number;
            private Pair pair;
            private long all, counted;

            Member(int number) {
                this.number = number;
                setDaemon(true);
            }

            @Override
            public void run() {
                var well = tried(() -> {
                    pair = pairOf(own ? name + "-" + number : name);
                    pair.take();
                    pair.give();
                });
                try {
                    gate.await();
                    gate.await();
                } catch (InterruptedException | BrokenBarrierException e) {
                    return;
                }
                while (well && !over)
                    well = tried(this::once);
            }

            private boolean tried(Step step) {
                try {
                    step.run();
                    return true;
                } catch (Exception e) {
                    trouble.compareAndSet(null, e);
                    return false;
                }
            }

            // What comes after the stop only lets those go who still wait.
            private void once() throws Exception {
                pair.take();
                all++;
                if (!over) {
                    counted++;
                    if (turns != null)
                        turns.note(number, threads);
                    if (sectionUs > 0)
                        LockSupport.parkNanos(sectionUs * 1000L);
                }
                pair.give();
            }
        }

        // ---- what is taken ------------------------------------------------

        private Pair pairOf(String of) {
            switch (kind) {
            case "lock":
                return new Locked(redisson.getLock(of));
            case "fair":
                return new Locked(redisson.getFairLock(of));
            case "read":
                return new Locked(redisson.getReadWriteLock(of).readLock());
            case "semaphore":
                return new Counted(of);
            case "permit":
                return new Leased(of);
            default:
                throw new IllegalArgumentException(kind);
            }
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private interface Pair {
        void take() throws Exception;

        void give() throws Exception;
    }

    private static final class Locked implements Pair {
        private final Lock lock;

        Locked(Lock lock) {
            this.lock = lock;
        }

        @Override
        public void take() {
            lock.lock();
        }

        @Override
        public void give() {
            lock.unlock();
        }
    }

    private static final class Counted implements Pair {
        private final RSemaphore semaphore;

        Counted(String name) {
            semaphore = redisson.getSemaphore(name);
        }

        @Override
        public void take() throws InterruptedException {
            semaphore.acquire();
        }

        @Override
        public void give() {
            semaphore.release();
        }
    }

    private static final class Leased implements Pair {
        private final RPermitExpirableSemaphore semaphore;
        private String id;

        Leased(String name) {
            semaphore = redisson.getPermitExpirableSemaphore(name);
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

    // ---- struct turns, as C sees it ---------------------------------------

    private static final class Turns {
        private static final int SECTIONS = 0, LAST = 8, HANDED = 16,
            CROSSED = 24, SINCE_NS = 32, LONGEST_NS = 40, SIZE = 48;
        private static final VarHandle LONGS =
            MethodHandles.byteBufferViewVarHandle(long[].class,
                                                  ByteOrder.nativeOrder());
        private final ByteBuffer at;

        Turns(Path file) throws IOException {
            try (var channel = FileChannel.open(file, StandardOpenOption.READ,
                                                StandardOpenOption.WRITE)) {
                at = channel.map(FileChannel.MapMode.READ_WRITE, 0, SIZE);
            }
        }

        private long get(int what) {
            return (long) LONGS.getOpaque(at, what);
        }

        private void set(int what, long value) {
            LONGS.setOpaque(at, what, value);
        }

        void note(int number, int threads) {
            var last = get(LAST);
            set(SECTIONS, get(SECTIONS) + 1);
            set(LAST, number);
            if (last < 0 || last == number)
                return;
            set(HANDED, get(HANDED) + 1);
            if (last / threads != number / threads)
                cross(System.nanoTime());
        }

        private void cross(long now) {
            var since = get(SINCE_NS);
            set(CROSSED, get(CROSSED) + 1);
            if (since != 0 && now - since > get(LONGEST_NS))
                set(LONGEST_NS, now - since);
            set(SINCE_NS, now);
        }
    }
}
