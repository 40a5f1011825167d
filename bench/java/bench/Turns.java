// SPDX-License-Identifier: MIT
//
// Turns.java - struct turns of worker.h, as C sees it.

package bench;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public final class Turns {
    private static final int SECTIONS = 0, LAST = 8, HANDED = 16,
        CROSSED = 24, SINCE_NS = 32, LONGEST_NS = 40, FREED_NS = 48,
        WAITS = 56, WAIT_NS = 64, N_WAITS = 1024,
        SIZE = WAIT_NS + 8 * N_WAITS;
    private static final VarHandle LONGS =
        MethodHandles.byteBufferViewVarHandle(long[].class,
                                              ByteOrder.nativeOrder());
    private final ByteBuffer at;

    public Turns(Path file) throws IOException {
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

    // Who was let in, straight after it was.
    public void note(int number, int threads) {
        var now = System.nanoTime();
        var last = get(LAST);
        set(SECTIONS, get(SECTIONS) + 1);
        set(LAST, number);
        if (last < 0 || last == number)
            return;
        set(HANDED, get(HANDED) + 1);
        waited(now);
        if (last / threads != number / threads)
            cross(now);
    }

    private void waited(long now) {
        var freed = get(FREED_NS);
        var n = get(WAITS);
        if (freed == 0)
            return;
        set(WAIT_NS + 8 * (int) (n % N_WAITS), now - freed);
        set(WAITS, n + 1);
    }

    // Straight before it is given back.
    public void leave() {
        set(FREED_NS, System.nanoTime());
    }

    private void cross(long now) {
        var since = get(SINCE_NS);
        set(CROSSED, get(CROSSED) + 1);
        if (since != 0 && now - since > get(LONGEST_NS))
            set(LONGEST_NS, now - since);
        set(SINCE_NS, now);
    }
}
