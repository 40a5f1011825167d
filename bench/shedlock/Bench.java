// SPDX-License-Identifier: MIT
//
// Bench.java - the worker of ShedLock's: its provider for JdbcTemplate, by the
// database's clock as its README asks for, over the pool that Spring Boot brings,
// which is set as it is shipped.
//
// ShedLock does not wait: a lock that another has is a failure here.

import bench.Worker;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

public final class Bench implements Worker.Store {
    private static final Duration AT_MOST = Duration.ofSeconds(30);

    private HikariDataSource pool;
    private LockProvider provider;

    private Bench() {}

    public static void main(String[] args) throws IOException {
        Worker.run(new Bench());
    }

    // postgresql://USER@HOST:PORT/DATABASE, or mariadb.
    @Override
    public String open(String text) throws Exception {
        var uri = URI.create(text);
        var how = new HikariConfig();
        how.setJdbcUrl("jdbc:" + uri.getScheme() + "://" + uri.getHost() + ":" +
                       uri.getPort() + uri.getPath());
        how.setUsername(uri.getUserInfo());
        how.setPassword("");
        pool = new HikariDataSource(how);
        provider = new JdbcTemplateLockProvider(
            JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(pool))
                .usingDbTime()
                .build());
        return Worker.version(JdbcTemplateLockProvider.class,
            "net.javacrumbs.shedlock/shedlock-provider-jdbc-template");
    }

    @Override
    public void close() {
        if (pool != null)
            pool.close();
    }

    @Override
    public void prepare(String kind, String name, int permits) {}

    @Override
    public Worker.Pair pair(String kind, String name) {
        if (!kind.equals("lock"))
            throw new IllegalArgumentException(kind);
        return new Once(name);
    }

    // A handle of theirs is good for one time.
    private final class Once implements Worker.Pair {
        private final String name;
        private SimpleLock held;

        Once(String name) {
            this.name = name;
        }

        @Override
        public void take() {
            held = provider.lock(new LockConfiguration(Instant.now(), name,
                AT_MOST, Duration.ZERO)).orElseThrow();
        }

        @Override
        public void give() {
            held.unlock();
        }
    }
}
