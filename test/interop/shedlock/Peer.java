// SPDX-License-Identifier: MIT
//
// Peer.java - ShedLock itself, told what to do line by line.
//
//     open URI [SETTING…]       postgresql:// or mariadb:// as ours, with user,
//                               host, port and database; settings are
//                               time=db|client|utc (db: usingDbTime; utc: its
//                               own clock, forceUtcTimeZone), table=NAME,
//                               by=TEXT (lockedBy)
//     lock try AT_MOST AT_LEAST NAME         granted?
//     lock wait AT_MOST AT_LEAST MS NAME     the same, again and again
//     lock extend AT_MOST AT_LEAST NAME      granted?
//     lock unlock NAME
//     row by|left|since|token|count NAME     what the table says: locked_by;
//                               ms until lock_until and since locked_at, by
//                               the database's clock; hf_token; number of rows
//     row delete NAME
//     table columns NAME        of the table, in their order
//     sql run STATEMENT
//     contend lock FILE THREADS ROUNDS NAME  see support/guarded.h
//
// and what ../java/peer/Lines.java understands.  Times are in milliseconds.
//
// ShedLock never waits; "wait" and "contend" ask every few milliseconds.

import static peer.Words.count;
import static peer.Words.get;
import static peer.Words.number;
import static peer.Words.run;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

import peer.Guarded;
import peer.Lines;
import peer.Words.Noun;
import peer.Words.Verb;

public final class Peer {
    private static final int PAUSE = 5; // ms between two questions

    private static LockProvider provider;
    private static JdbcTemplate jdbc;
    private static String table;
    private static boolean postgres;
    private static Map<String, Noun<?>> nouns;

    private Peer() {}

    // ---- locks -----------------------------------------------------------

    // A name, and what this process holds of it.
    private static final class Lock {
        private final String name;
        private SimpleLock held;

        Lock(String name) {
            this.name = name;
        }

        private static Optional<SimpleLock> ask(String name, long most,
                                                long least) {
            return provider.lock(new LockConfiguration(Instant.now(), name,
                Duration.ofMillis(most), Duration.ofMillis(least)));
        }

        synchronized boolean tryOnce(long most, long least) {
            var got = ask(name, most, least);
            got.ifPresent(lock -> held = lock);
            return got.isPresent();
        }

        boolean await(long most, long least, long ms)
                throws InterruptedException {
            var by = System.nanoTime() + ms * 1_000_000;
            while (!tryOnce(most, least)) {
                if (System.nanoTime() > by)
                    return false;
                Thread.sleep(PAUSE);
            }
            return true;
        }

        synchronized boolean extend(long most, long least) {
            var got = held.extend(Duration.ofMillis(most),
                                  Duration.ofMillis(least));
            held = got.orElse(null);
            return got.isPresent();
        }

        synchronized void unlock() {
            if (held == null)
                throw new IllegalMonitorStateException();
            held.unlock();
            held = null;
        }
    }

    private static final Map<String, Verb<Lock>> LOCK = Map.of(
        "try", get(2, (l, w) -> l.tryOnce(number(w[0]), number(w[1]))),
        "wait", get(3, (l, w) ->
            l.await(number(w[0]), number(w[1]), number(w[2]))),
        "extend", get(2, (l, w) -> l.extend(number(w[0]), number(w[1]))),
        "unlock", run(0, (l, w) -> l.unlock()));

    // ---- the row, bare ---------------------------------------------------

    // Milliseconds from the database's clock to the column, and on.
    private static String until(String column) {
        return postgres ?
            "CAST(extract(epoch FROM " + column +
                " - timezone('utc', clock_timestamp())) * 1000 AS bigint)" :
            "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), " + column +
                ") DIV 1000";
    }

    private static String cell(String what, String name) {
        var all = jdbc.queryForList("SELECT " + what + " FROM " + table +
                                    " WHERE name = ?", String.class, name);
        return all.isEmpty() ? null : all.get(0);
    }

    private static final Map<String, Verb<String>> ROW = Map.of(
        "by", get(0, (name, w) -> cell("locked_by", name)),
        "left", get(0, (name, w) -> cell(until("lock_until"), name)),
        "since", get(0, (name, w) -> cell("-" + until("locked_at"), name)),
        "token", get(0, (name, w) -> cell("hf_token", name)),
        "count", get(0, (name, w) -> cell("count(*)", name)),
        "delete", run(0, (name, w) ->
            jdbc.update("DELETE FROM " + table + " WHERE name = ?", name)));

    private static final Map<String, Verb<String>> TABLE = Map.of(
        "columns", get(0, (name, w) -> jdbc.queryForList(
            "SELECT column_name FROM information_schema.columns " +
                "WHERE table_name = ? ORDER BY ordinal_position",
            String.class, name)));

    private static final Map<String, Verb<String>> SQL = Map.of(
        "run", run(0, (statement, w) -> jdbc.execute(statement)));

    private static Map<String, Noun<?>> nouns() {
        var locks = new ConcurrentHashMap<String, Lock>();
        Function<String, Lock> kept =
            name -> locks.computeIfAbsent(name, Lock::new);
        return Map.of(
            "lock", new Noun<>(kept, LOCK),
            "row", new Noun<>(Function.<String>identity(), ROW),
            "table", new Noun<>(Function.<String>identity(), TABLE),
            "sql", new Noun<>(Function.<String>identity(), SQL));
    }

    // ---- lines -----------------------------------------------------------

    public static void main(String[] args) throws IOException {
        new Lines(Peer::obey, Peer::waits).listen();
        System.exit(0);
    }

    private static Object obey(String[] words) throws Exception {
        switch (words[0]) {
        case "open":
            return open(URI.create(words[1]),
                        words.length > 2 ? words[2] : "");
        case "contend":
            return contend(words[2].split(" ", 4));
        default:
            return nouns.get(words[0]).obey(words[1], words[2]);
        }
    }

    // It is in its loop.
    private static boolean waits(List<StackTraceElement> where) {
        return where.stream().anyMatch(
            frame -> frame.getMethodName().equals("await"));
    }

    private static Map<String, String> settings(String text) {
        var all = new HashMap<String, String>();
        for (var word : text.split(" ")) {
            var pair = word.split("=", 2);
            if (pair.length == 2)
                all.put(pair[0], pair[1]);
        }
        return all;
    }

    // A connection for each thread, which stays open.
    private static final class Own extends AbstractDataSource {
        private final ThreadLocal<SingleConnectionDataSource> own;

        Own(String url, String user, String password) {
            own = ThreadLocal.withInitial(() ->
                new SingleConnectionDataSource(url, user, password, true));
        }

        @Override public Connection getConnection() throws SQLException {
            return own.get().getConnection();
        }

        @Override public Connection getConnection(String user, String password)
                throws SQLException {
            return getConnection();
        }
    }

    private static String open(URI uri, String text) {
        var set = settings(text);
        var user = uri.getUserInfo() == null ? "" : uri.getUserInfo();
        postgres = uri.getScheme().startsWith("postgres");
        table = set.getOrDefault("table", "shedlock");
        jdbc = new JdbcTemplate(new Own(
            "jdbc:" + (postgres ? "postgresql" : "mariadb") + "://" +
                uri.getHost() + ":" + uri.getPort() + uri.getPath(),
            user.split(":", 2)[0],
            user.contains(":") ? user.split(":", 2)[1] : ""));
        provider = provider(set);
        nouns = nouns();
        return jdbc.queryForObject("SELECT 'OK'", String.class);
    }

    private static LockProvider provider(Map<String, String> set) {
        var how = JdbcTemplateLockProvider.Configuration.builder()
            .withJdbcTemplate(jdbc)
            .withTableName(table);
        if (set.containsKey("by"))
            how = how.withLockedByValue(set.get("by"));
        switch (set.getOrDefault("time", "db")) {
        case "db":
            how = how.usingDbTime();
            break;
        case "utc":
            how = how.forceUtcTimeZone();
            break;
        default:
            break;
        }
        return new JdbcTemplateLockProvider(how.build());
    }

    // ---- the guarded counter ---------------------------------------------

    private static String contend(String[] words) throws Exception {
        var guarded = new Guarded(Path.of(words[0]));
        guarded.contend(count(words[1]), count(words[2]), () -> {
            var got = Lock.ask(words[3], 60000, 0);
            for (; got.isEmpty(); got = Lock.ask(words[3], 60000, 0))
                Thread.sleep(PAUSE);
            try {
                guarded.inside();
            } finally {
                got.get().unlock();
            }
        });
        return "OK";
    }
}
