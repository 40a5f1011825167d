// SPDX-License-Identifier: MIT
//
// Lines.java - how a peer in Java is spoken to.
//
//     thread K LINE       a line for the thread K
//     interrupt K         the thread K
//     asleep K            does it wait to be woken?
//     quit                or the end of input
//
// Any other line is for the peer.  Each is answered by one: OK, YES or NO,
// a number, words with commas between them; NOT_OWNER, INTERRUPTED, CANNOT
// (this version has no such thing) or EXCEPTION and its text.
//
// A line is obeyed by the main thread, and so by one owner.  Each K is
// a thread and an owner of its own, made when it is first spoken to; what it
// answers begins with "#K ", and comes when it comes.

package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Predicate;
import java.util.stream.Stream;

public final class Lines {
    public interface Obedient {
        Object obey(String[] words) throws Exception;
    }

    private static final PrintStream OUT =
        new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final Map<String, Worker> workers = new HashMap<>();
    private final Obedient peer;
    private final Predicate<List<StackTraceElement>> waits;

    // `waits` says of where a thread is whether only the other can wake it
    // there.
    public Lines(Obedient peer, Predicate<List<StackTraceElement>> waits) {
        this.peer = peer;
        this.waits = waits;
    }

    public void listen() throws IOException {
        var in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = in.readLine(); line != null && !line.equals("quit");
             line = in.readLine())
            heed(line);
    }

    private void heed(String line) {
        var words = line.split(" ", 3);
        if (words[0].equals("thread"))
            workers.computeIfAbsent(words[1], Worker::new).lines.add(words[2]);
        else
            OUT.println(answer(line));
    }

    private final class Worker extends Thread {
        final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();

        Worker(String name) {
            super(name);
            setDaemon(true);
            start();
        }

        @Override public void run() {
            while (true) {
                try {
                    OUT.println("#" + getName() + " " + answer(lines.take()));
                } catch (InterruptedException e) {
                    // it came too late for a line; the next one is waited for
                }
            }
        }
    }

    private String answer(String line) {
        try {
            return inWords(obey(line.split(" ", 3)));
        } catch (IllegalMonitorStateException e) {
            return "NOT_OWNER";
        } catch (InterruptedException e) {
            return "INTERRUPTED";
        } catch (NoSuchMethodError | NoClassDefFoundError e) {
            return "CANNOT";
        } catch (Exception e) {
            return "EXCEPTION " + e.toString().replace('\n', ' ');
        }
    }

    private static String inWords(Object said) {
        if (said instanceof Boolean)
            return (boolean) said ? "YES" : "NO";
        if (said instanceof List<?> words)
            return words.isEmpty() ? "NO" :
                String.join(",", words.stream().map(Object::toString).toList());
        return said == null ? "NO" : said.toString();
    }

    private Object obey(String[] words) throws Exception {
        switch (words[0]) {
        case "interrupt":
            workers.get(words[1]).interrupt();
            return "OK";
        case "asleep":
            return isAsleep(workers.get(words[1]));
        default:
            return peer.obey(words);
        }
    }

    // First where it is, then whether it sleeps: the other way round it might
    // have woken up and gone there.
    private boolean isAsleep(Thread thread) {
        var there = waits.test(Stream.of(thread.getStackTrace()).toList());
        var state = thread.getState();
        return there && (state == Thread.State.WAITING ||
                         state == Thread.State.TIMED_WAITING);
    }
}
