// SPDX-License-Identifier: MIT
//
// Worker.java - a worker in Java: the lines and words of worker.h, for whoever
// has a store.

package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

public final class Worker {
    // What is taken and given back.
    public interface Pair {
        void take() throws Exception;

        void give() throws Exception;
    }

    public interface Store {
        // What version it is of.
        String open(String uri) throws Exception;

        // Called before a row, whose kind may want permits.
        void prepare(String kind, String name, int permits) throws Exception;

        Pair pair(String kind, String name) throws Exception;

        void close();
    }

    private static final PrintStream OUT =
        new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final Store store;
    private Row row;

    private Worker(Store store) {
        this.store = store;
    }

    public static void run(Store store) throws IOException {
        new Worker(store).listen();
        System.exit(0);
    }

    // The version in what Maven left in the jar of an artifact.
    public static String version(Class<?> of, String artifact)
            throws IOException {
        var about = new Properties();
        try (InputStream in = of.getResourceAsStream(
                 "/META-INF/maven/" + artifact + "/pom.properties")) {
            if (in != null)
                about.load(in);
        }
        return about.getProperty("version", "?") + ", Java " +
            System.getProperty("java.version");
    }

    private void listen() throws IOException {
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
        store.close();
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
        case "open":
            return "OK " + store.open(words[1]);
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

    // ---- one row ----------------------------------------------------------

    private final class Row {
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
            store.prepare(kind, name, permits);
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

        private interface Step {
            void run() throws Exception;
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
                    pair = store.pair(kind, own ? name + "-" + number : name);
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
                if (turns != null)
                    turns.leave();
                pair.give();
            }
        }
    }
}
