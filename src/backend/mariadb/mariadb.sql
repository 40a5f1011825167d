-- mariadb.sql - the tables and statements of MariaDB and MySQL.
--
-- What a statement is for, what its parameters mean and what it answers is in
-- ../tables/statements.h, once for every dialect.  {x} is a parameter: a number,
-- a literal of bytes or NULL.  {now} is the section of that name.
--
-- Everything runs at READ COMMITTED (see `session`), where InnoDB locks rows
-- and no gaps.  Rows are found by the primary key alone, and there is no other
-- index: two statements can then not take the locks of one row in different
-- orders.  Where a whole line is meant, FORCE INDEX keeps small tables from
-- being scanned, which would lock the rows of other lines.
--
-- Nothing here needs RETURNING, which MySQL does not have.

-- name: session
-- Of every connection, once.  The last statement says who the server is, and
-- whether its SYSDATE is the time of the call: the clock must be read after a
-- row was waited for.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
SET SESSION autocommit = 1, time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES', sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = DEFAULT, completion_type = 0, lock_wait_timeout = 5, innodb_lock_wait_timeout = 2 /*M!100300 , idle_transaction_timeout = 4 */;
SELECT VERSION(), @@global.read_only, CONNECTION_ID(), NOW(6), SLEEP(0.0002), SYSDATE(6)

-- name: now
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))

-- name: layout_1
CREATE TABLE IF NOT EXISTS {s}hf_line (
    name    VARBINARY(255) NOT NULL,
    kind    SMALLINT       NOT NULL,
    token   BIGINT         NOT NULL DEFAULT 0,
    block   INT            NOT NULL DEFAULT 0,
    until   BIGINT         NOT NULL DEFAULT 0,
    owner   BIGINT         NOT NULL DEFAULT 0,
    client  VARBINARY(16)  NOT NULL DEFAULT '',
    asked   SMALLINT       NOT NULL DEFAULT 0,
    since   BIGINT         NOT NULL DEFAULT 0,
    kept    SMALLINT       NOT NULL DEFAULT 0,
    waits   INT            NOT NULL DEFAULT 0,
    ticket  BIGINT         NOT NULL DEFAULT 0,
    number  BIGINT,
    gone_at BIGINT,
    PRIMARY KEY (name, kind)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {s}hf_hold (
    name    VARBINARY(255) NOT NULL,
    kind    SMALLINT       NOT NULL,
    client  VARBINARY(16)  NOT NULL,
    owner   BIGINT         NOT NULL,
    token   BIGINT         NOT NULL,
    asked   SMALLINT       NOT NULL,
    permits INT            NOT NULL,
    nonce   VARBINARY(16)  NOT NULL,
    until   BIGINT         NOT NULL,
    since   BIGINT         NOT NULL,
    kept    SMALLINT       NOT NULL,
    PRIMARY KEY (name, kind, client, owner, token)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {s}hf_wait (
    name    VARBINARY(255) NOT NULL,
    kind    SMALLINT       NOT NULL,
    ticket  BIGINT         NOT NULL,
    client  VARBINARY(16)  NOT NULL,
    owner   BIGINT         NOT NULL,
    asked   SMALLINT       NOT NULL,
    permits INT            NOT NULL,
    nonce   VARBINARY(16)  NOT NULL,
    fifo    SMALLINT       NOT NULL,
    lease   BIGINT         NOT NULL,
    since   BIGINT         NOT NULL,
    until   BIGINT         NOT NULL,
    PRIMARY KEY (name, kind, ticket)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {s}hf_answer (
    name    VARBINARY(255) NOT NULL,
    kind    SMALLINT       NOT NULL,
    nonce   VARBINARY(16)  NOT NULL,
    result  INT            NOT NULL,
    value   BIGINT         NOT NULL,
    until   BIGINT         NOT NULL,
    PRIMARY KEY (name, kind, nonce)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {s}hf_client (
    client  VARBINARY(16)  NOT NULL,
    pid     BIGINT         NOT NULL,
    host    VARBINARY(255) NOT NULL,
    program VARBINARY(255) NOT NULL,
    login   VARBINARY(255) NOT NULL,
    why     VARBINARY(255) NOT NULL,
    until   BIGINT         NOT NULL,
    PRIMARY KEY (client)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {s}hf_note (
    client  VARBINARY(16)  NOT NULL,
    id      BIGINT UNSIGNED NOT NULL,
    note    VARBINARY(700) NOT NULL,
    until   BIGINT         NOT NULL,
    PRIMARY KEY (client, id)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {s}hf_layout (
    version INT            NOT NULL,
    PRIMARY KEY (version)
) ENGINE = InnoDB;
INSERT INTO {s}hf_layout (version) VALUES (1)
    ON DUPLICATE KEY UPDATE version = VALUES(version);
ALTER TABLE {s}hf_client ADD COLUMN /*M! IF NOT EXISTS */
    doing   VARBINARY(16384) NOT NULL DEFAULT ''

-- name: layout
SELECT MAX(version) FROM {s}hf_layout

-- A lock, by one statement.

-- name: take
-- VALUES(since) is the clock before the row was waited for, and the same in
-- every assignment.  An old clock errs on the safe side: it takes nothing that
-- is not free, and the lease still began after the request left.  Assignments
-- are seen from left to right: `until` last.  Who finds itself holding took it
-- only if the row was written just now: it may have been given to us in
-- between, for as short as an offer lasts.
INSERT INTO {s}hf_line (name, kind, token, block, until, owner, client, asked, since, kept)
VALUES ({name}, {kind}, {now} + {block} - 1, {block} - 1, {now} + {lease}, {owner}, {client}, {asked}, {now}, 0)
    ON DUPLICATE KEY UPDATE
       token = IF(until <= VALUES(since) AND waits = 0,
                  GREATEST(token + 1, VALUES(since)) + {block} - 1, token),
       block = IF(until <= VALUES(since) AND waits = 0, {block} - 1, block),
       asked = IF(until <= VALUES(since) AND waits = 0, {asked}, asked),
       kept = IF(until <= VALUES(since) AND waits = 0, 0, kept),
       owner = IF(until <= VALUES(since) AND waits = 0, {owner}, owner),
       client = IF(until <= VALUES(since) AND waits = 0, {client}, client),
       since = IF(until <= VALUES(since) AND waits = 0, VALUES(since), since),
       until = IF((until <= VALUES(since) AND waits = 0)
                  OR (client = {client} AND owner = {owner} AND kept = 0
                      AND until > VALUES(since)), VALUES(until), until);
SELECT ROW_COUNT() > 0 AND client = {client} AND owner = {owner} AND kept = 0
       AND until > {now}, token, block, until - {now}, waits
  FROM {s}hf_line WHERE name = {name} AND kind = {kind}

-- name: take_first
-- Never asked for: `take` makes the row.
SELECT 0 FROM DUAL WHERE 1 = 0

-- name: free
UPDATE {s}hf_line SET until = {now}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner} AND until > {now} AND kept = 0 AND waits = 0

-- Renewals, of which a script has many.

-- name: renew
UPDATE {s}hf_line SET until = {now} + {lease}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner} AND until > {now} AND kept = 0

-- name: hold_renew
UPDATE {s}hf_hold FORCE INDEX (PRIMARY) SET until = {now} + {lease}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner} AND until > {now} AND kept = 0
   AND NOT EXISTS (SELECT 1 FROM {s}hf_line l
                    WHERE l.name = {name} AND l.kind = {kind}
                      AND l.gone_at <= {now})

-- name: keep_place
UPDATE {s}hf_wait FORCE INDEX (PRIMARY) SET until = {now} + {lease}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner}

-- The turn.

-- name: begin
-- How long it may keep others waiting is said in `session`.
START TRANSACTION;
SET @hf_may = 1

-- name: lock_line
-- Not INSERT IGNORE: that shares the lock of a row that is there, and two who
-- then both want it alone are a deadlock.
INSERT INTO {s}hf_line (name, kind)
SELECT {name}, {kind} FROM DUAL WHERE {may}
    ON DUPLICATE KEY UPDATE kind = VALUES(kind);
SELECT 1 FROM {s}hf_line
 WHERE name = {name} AND kind = {kind} AND {may} FOR UPDATE

-- name: lock_holds
SELECT COUNT(*) FROM {s}hf_hold FORCE INDEX (PRIMARY)
 WHERE name = {name} AND kind = {kind} AND {may} FOR UPDATE

-- name: view
SELECT 0, LOWER(HEX(COALESCE(l.client, ''))), COALESCE(l.owner, 0),
       COALESCE(l.asked, 0), 0, '', COALESCE(l.token, 0),
       COALESCE(l.block, 0), COALESCE(l.until, 0), COALESCE(l.since, 0),
       COALESCE(l.kept, 0), 0, {now}, COALESCE(l.waits, -1),
       COALESCE(l.ticket, 0), l.number, l.gone_at
  FROM (SELECT 1) one
  LEFT JOIN {s}hf_line l ON l.name = {name} AND l.kind = {kind}
UNION ALL
SELECT 1, LOWER(HEX(client)), owner, asked, permits, LOWER(HEX(nonce)),
       token, token, until, since, kept, 0, 0, 0, 0, 0, 0
  FROM {s}hf_hold FORCE INDEX (PRIMARY) WHERE name = {name} AND kind = {kind}
UNION ALL
SELECT * FROM (SELECT 2, LOWER(HEX(client)), owner, asked, permits,
                      LOWER(HEX(nonce)), 0 AS token, ticket, until, since, fifo,
                      lease, 0 AS now, 0 AS waits, 0 AS last, 0 AS number,
                      0 AS gone_at
                 FROM {s}hf_wait FORCE INDEX (PRIMARY)
                WHERE name = {name} AND kind = {kind}
                ORDER BY ticket LIMIT {limit}) first
UNION ALL
SELECT 3, LOWER(HEX(client)), owner, asked, permits, LOWER(HEX(nonce)),
       0, ticket, until, since, fifo, lease, 0, 0, 0, 0, 0
  FROM {s}hf_wait FORCE INDEX (PRIMARY)
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner}
 ORDER BY 1, 8

-- name: recall
SELECT result, value FROM {s}hf_answer
 WHERE name = {name} AND kind = {kind} AND nonce = {nonce}

-- name: write
UPDATE {s}hf_line
   SET token = {token}, block = {block}, until = {until}, owner = {owner},
       client = {client}, asked = {asked}, since = {since}, kept = {kept},
       waits = {waits}, ticket = {ticket}, number = {number},
       gone_at = {gone_at}
 WHERE name = {name} AND kind = {kind}

-- name: hold
INSERT INTO {s}hf_hold (name, kind, client, owner, token, asked, permits, nonce,
                        until, since, kept)
VALUES ({name}, {kind}, {client}, {owner}, {token}, {asked}, {permits}, {nonce},
        {until}, {since}, {kept})

-- name: hold_set
UPDATE {s}hf_hold SET until = {until}, kept = {kept}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner} AND token = {token}

-- name: hold_drop
DELETE FROM {s}hf_hold
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner} AND token = {token}

-- name: join
INSERT INTO {s}hf_wait (name, kind, ticket, client, owner, asked, permits,
                        nonce, fifo, lease, since, until)
VALUES ({name}, {kind}, {ticket}, {client}, {owner}, {asked}, {permits},
        {nonce}, {fifo}, {lease}, {since}, {until})

-- name: stay
UPDATE {s}hf_wait SET until = {until}
 WHERE name = {name} AND kind = {kind} AND ticket = {ticket}

-- name: leave
DELETE FROM {s}hf_wait
 WHERE name = {name} AND kind = {kind} AND ticket = {ticket}

-- name: remember
INSERT INTO {s}hf_answer (name, kind, nonce, result, value, until)
VALUES ({name}, {kind}, {nonce}, {result}, {value}, {until})
    ON DUPLICATE KEY UPDATE result = VALUES(result), value = VALUES(value),
       until = VALUES(until)

-- name: forget
-- In the form for several tables, which alone takes FORCE INDEX.
DELETE a FROM {s}hf_answer a FORCE INDEX (PRIMARY)
 WHERE a.name = {name} AND a.kind = {kind} AND a.until <= {now}

-- name: tell
-- The client looks for it: see ear.c.
INSERT INTO {s}hf_note (client, id, note, until)
VALUES ({client}, UUID_SHORT(), {note}, {now})

-- In one round trip, where nobody waits.  What does not fit as it is looked at
-- is not locked; what does is decided about behind lock_line and lock_holds.
-- To look is to SELECT, which locks nothing: SET would.

-- name: may
@hf_may = 1

-- name: hold_fits
l.waits = 0 AND (l.gone_at IS NULL OR l.gone_at > {now})
   AND NOT EXISTS (SELECT 1 FROM {s}hf_hold h
                    WHERE h.name = {name} AND h.kind = {kind}
                      AND h.until > {now}
                      AND ((h.client = {client} AND h.owner = {owner})
                           OR (({asked} = {kind} OR h.asked = h.kind)
                               AND NOT (h.client = {client}
                                        AND h.owner = {beside}
                                        AND h.kept = 0))))
   AND ({permits} = 0
        OR l.number - (SELECT COALESCE(SUM(h.permits), 0) FROM {s}hf_hold h
                        WHERE h.name = {name} AND h.kind = {kind}
                          AND h.until > {now}) >= {permits})

-- name: hold_look
SELECT COALESCE(MIN({hold_fits}), {permits} = 0) INTO @hf_may
  FROM {s}hf_line l WHERE l.name = {name} AND l.kind = {kind}

-- name: hold_take
UPDATE {s}hf_line l SET l.token = GREATEST(l.token + 1, {now}), l.until = {now}
 WHERE l.name = {name} AND l.kind = {kind} AND {may} AND {hold_fits};
SET @hf_done = ROW_COUNT();
INSERT INTO {s}hf_hold (name, kind, client, owner, token, asked, permits, nonce,
                        until, since, kept)
SELECT l.name, l.kind, {client}, {owner}, l.token, {asked}, {permits}, {nonce},
       {now} + {lease}, {now}, 0
  FROM {s}hf_line l
 WHERE l.name = {name} AND l.kind = {kind} AND @hf_done = 1;
SELECT token FROM {s}hf_line
 WHERE name = {name} AND kind = {kind} AND @hf_done = 1

-- name: hold_free
DELETE h FROM {s}hf_hold h FORCE INDEX (PRIMARY)
  JOIN {s}hf_line l ON l.name = h.name AND l.kind = h.kind
 WHERE h.name = {name} AND h.kind = {kind} AND h.client = {client}
   AND h.owner = {owner} AND h.until > {now} AND h.kept = 0
   AND l.waits = 0 AND (l.gone_at IS NULL OR l.gone_at > {now})

-- name: number_fits
l.number IS NOT NULL AND (l.gone_at IS NULL OR l.gone_at > {now})
   AND (l.waits = 0 OR {value} < 0)
   AND l.number + {value} - @hf_leased >= {least}
   AND NOT EXISTS (SELECT 1 FROM {s}hf_answer a
                    WHERE a.name = {name} AND a.kind = {kind}
                      AND a.nonce = {nonce})

-- name: number_look
SELECT COALESCE(SUM(permits), 0) INTO @hf_leased
  FROM {s}hf_hold FORCE INDEX (PRIMARY)
 WHERE name = {name} AND kind = {kind} AND until > {now};
SELECT COALESCE(MIN({number_fits}), 0) INTO @hf_may
  FROM {s}hf_line l WHERE l.name = {name} AND l.kind = {kind}

-- name: number_add
SET @hf_leased = (SELECT COALESCE(SUM(permits), 0)
                    FROM {s}hf_hold FORCE INDEX (PRIMARY)
                   WHERE name = {name} AND kind = {kind} AND until > {now});
UPDATE {s}hf_line l SET l.number = l.number + {value}, l.until = {now}
 WHERE l.name = {name} AND l.kind = {kind} AND {may} AND {number_fits};
SET @hf_done = ROW_COUNT();
INSERT INTO {s}hf_answer (name, kind, nonce, result, value, until)
SELECT l.name, l.kind, {nonce}, 0, l.number - @hf_leased, {now} + {lease}
  FROM {s}hf_line l
 WHERE l.name = {name} AND l.kind = {kind} AND @hf_done = 1;
SELECT number - @hf_leased FROM {s}hf_line
 WHERE name = {name} AND kind = {kind} AND @hf_done = 1

-- name: hurry
-- How long a commit waits is the server's affair here.

-- name: calls

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- The mailbox: see ear.c, which writes the client, and what it has heard, by
-- printf.

-- name: hear
SELECT id, note FROM hf_note FORCE INDEX (PRIMARY) WHERE client = x'%s'

-- name: heard
DELETE n FROM hf_note n FORCE INDEX (PRIMARY)
 WHERE n.client = x'%s' AND n.id IN (%s)

-- Who is there.

-- name: announce
INSERT INTO {s}hf_client (client, pid, host, program, login, why, until, doing)
VALUES ({client}, {pid}, {host}, {program}, {login}, {why}, {now} + {lease},
        {doing})
    ON DUPLICATE KEY UPDATE pid = VALUES(pid), host = VALUES(host),
       program = VALUES(program), login = VALUES(login), why = VALUES(why),
       until = VALUES(until), doing = VALUES(doing)

-- name: introduce
INSERT INTO {s}hf_client (client, pid, host, program, login, why, until)
VALUES ({client}, {pid}, {host}, {program}, {login}, {why}, {now} + {lease})
    ON DUPLICATE KEY UPDATE pid = VALUES(pid), host = VALUES(host),
       program = VALUES(program), login = VALUES(login), why = VALUES(why),
       until = VALUES(until)

-- name: take_leave
DELETE n FROM {s}hf_note n FORCE INDEX (PRIMARY) WHERE n.client = {client};
DELETE FROM {s}hf_client WHERE client = {client}

-- name: clients
SELECT LOWER(HEX(client)), pid, LOWER(HEX(host)), LOWER(HEX(program)),
       LOWER(HEX(login)), LOWER(HEX(why)), LOWER(HEX(doing))
  FROM {s}hf_client
 WHERE client > {client} AND until > {now}
 ORDER BY client LIMIT {limit}

-- name: edge
SELECT LOWER(HEX(e.name))
  FROM (SELECT (SELECT name FROM {s}hf_line WHERE name >= {name}
                 ORDER BY name, kind LIMIT 1 OFFSET {limit}) AS name
        UNION ALL
        SELECT (SELECT name FROM {s}hf_hold WHERE name >= {name}
                 ORDER BY name, kind, client, owner, token
                 LIMIT 1 OFFSET {limit})
        UNION ALL
        SELECT (SELECT name FROM {s}hf_wait WHERE name >= {name}
                 ORDER BY name, kind, ticket LIMIT 1 OFFSET {limit})) e
 WHERE e.name IS NOT NULL
 ORDER BY e.name LIMIT 1

-- name: list
SELECT 0, LOWER(HEX(l.name)), l.kind, '', 0, l.kind, 0, '', 0,
       l.gone_at - {now}, NULL, l.number, 0, NULL, '', '', '', ''
  FROM {s}hf_line l
 WHERE l.number IS NOT NULL AND (l.gone_at IS NULL OR l.gone_at > {now})
   AND l.name >= {name}
   AND ({all} = 1 OR l.name <= {last})
UNION ALL
SELECT 1, LOWER(HEX(l.name)), l.kind, LOWER(HEX(l.client)), l.owner, l.asked, 0,
       '', l.token - l.block, l.until - {now}, {now} - l.since, 0, 0, p.pid,
       LOWER(HEX(p.host)), LOWER(HEX(p.program)), LOWER(HEX(p.login)),
       LOWER(HEX(p.why))
  FROM {s}hf_line l LEFT JOIN {s}hf_client p ON p.client = l.client
 WHERE l.until > {now} AND l.client <> '' AND l.name >= {name}
   AND ({all} = 1 OR l.name <= {last})
UNION ALL
SELECT 1, LOWER(HEX(h.name)), h.kind, LOWER(HEX(h.client)), h.owner, h.asked,
       h.permits, LOWER(HEX(h.nonce)), h.token, h.until - {now},
       {now} - h.since, 0, h.token, p.pid, LOWER(HEX(p.host)),
       LOWER(HEX(p.program)), LOWER(HEX(p.login)), LOWER(HEX(p.why))
  FROM {s}hf_hold h LEFT JOIN {s}hf_client p ON p.client = h.client
 WHERE h.until > {now} AND h.name >= {name}
   AND ({all} = 1 OR h.name <= {last})
   AND NOT EXISTS (SELECT 1 FROM {s}hf_line l
                    WHERE l.name = h.name AND l.kind = h.kind
                      AND l.gone_at <= {now})
UNION ALL
SELECT 2, LOWER(HEX(w.name)), w.kind, LOWER(HEX(w.client)), w.owner, w.asked,
       w.permits, LOWER(HEX(w.nonce)), 0, NULL, {now} - w.since, 0, w.ticket,
       p.pid, LOWER(HEX(p.host)), LOWER(HEX(p.program)), LOWER(HEX(p.login)),
       LOWER(HEX(p.why))
  FROM {s}hf_wait w LEFT JOIN {s}hf_client p ON p.client = w.client
 WHERE w.until > {now} AND w.name >= {name}
   AND ({all} = 1 OR w.name <= {last})
 ORDER BY 2, 3, 1, 13

-- What is over for long.  A limit, so that nobody waits long for a row that
-- one of these has locked on its way.

-- name: tidy_clients
DELETE FROM {s}hf_client WHERE until <= {now} - {lease} LIMIT 1000

-- name: tidy_answers
DELETE FROM {s}hf_note WHERE until <= {now} - {lease} LIMIT 1000;
DELETE FROM {s}hf_answer WHERE until <= {now} - {lease} LIMIT 1000

-- name: tidy_waits
DELETE FROM {s}hf_wait WHERE until <= {now} - {lease} LIMIT 1000

-- name: tidy_holds
DELETE FROM {s}hf_hold WHERE until <= {now} - {lease} LIMIT 1000

-- name: tidy_lines
-- Safe only because a new row's token begins at the clock, above the old one.
DELETE FROM {s}hf_line
 WHERE until <= {now} - {lease} AND token <= {now} - {lease} AND waits = 0
   AND (number IS NULL OR gone_at <= {now} - {lease})
   AND NOT EXISTS (SELECT 1 FROM {s}hf_wait w
                    WHERE w.name = hf_line.name AND w.kind = hf_line.kind)
   AND NOT EXISTS (SELECT 1 FROM {s}hf_hold h
                    WHERE h.name = hf_line.name AND h.kind = hf_line.kind)
   AND NOT EXISTS (SELECT 1 FROM {s}hf_answer a
                    WHERE a.name = hf_line.name AND a.kind = hf_line.kind)
 LIMIT 1000

-- What a server is like: see examine.c.

-- name: variables
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'sync_binlog', 'log_bin', 'wsrep_on', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled', 'max_statement_time', 'max_execution_time', 'wait_timeout', 'version_comment', 'tx_isolation', 'transaction_isolation');
SELECT UNIX_TIMESTAMP(SYSDATE(6)) * 1000000;
SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'
