// SPDX-License-Identifier: MIT
//
// Guarded.java - struct hf_test_guarded, as C sees it: support/guarded.h.

package peer;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public final class Guarded {
    private static final int COUNTER = 0, LAST_TOKEN = 8, INSIDE = 16,
        OVERLAPS = 20, DISORDERS = 24, FAILURES = 28, SIZE = 32;
    private static final VarHandle LONGS =
        MethodHandles.byteBufferViewVarHandle(long[].class,
                                              ByteOrder.nativeOrder());
    private static final VarHandle INTS =
        MethodHandles.byteBufferViewVarHandle(int[].class,
                                              ByteOrder.nativeOrder());
    private final ByteBuffer at;

    public interface Step {
        void run() throws Exception;
    }

    public Guarded(Path file) throws IOException {
        try (var channel = FileChannel.open(file, StandardOpenOption.READ,
                                            StandardOpenOption.WRITE)) {
            at = channel.map(FileChannel.MapMode.READ_WRITE, 0, SIZE);
        }
    }

    private void count(int what, int n) {
        INTS.getAndAdd(at, what, n);
    }

    // So many threads do the step so many times each.
    public void contend(int threads, int rounds, Step step)
            throws InterruptedException {
        var all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            all[i] = new Thread(() -> repeat(rounds, step));
            all[i].start();
        }
        for (var thread : all)
            thread.join();
    }

    private void repeat(int rounds, Step step) {
        for (int i = 0; i < rounds; i++) {
            try {
                step.run();
            } catch (Exception e) {
                count(FAILURES, 1);
            }
        }
    }

    public void ordered(long token) {
        if (token <= (long) LONGS.getAndSet(at, LAST_TOKEN, token))
            count(DISORDERS, 1);
    }

    // What the holder of a lock does.
    public void inside() {
        if ((int) INTS.getAndAdd(at, INSIDE, 1) != 0)
            count(OVERLAPS, 1);
        var seen = (long) LONGS.getVolatile(at, COUNTER);
        Thread.yield();
        LONGS.setVolatile(at, COUNTER, seen + 1);
        count(INSIDE, -1);
    }

    // What each of at most `limit` does who are in together.
    public void together(int limit) {
        if ((int) INTS.getAndAdd(at, INSIDE, 1) >= limit)
            count(OVERLAPS, 1);
        Thread.yield();
        LONGS.getAndAdd(at, COUNTER, 1L);
        count(INSIDE, -1);
    }
}
