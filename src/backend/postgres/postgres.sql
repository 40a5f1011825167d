-- postgres.sql - the tables and statements of PostgreSQL.
--
-- What a statement is for, what its parameters mean and what it answers is in
-- ../tables/statements.h, once for every dialect.  {x} is a parameter: a number,
-- a literal of bytes or NULL.  {s} stands before every table: its schema and a
-- dot, or nothing.  {now}, {may}, {hold_fits} and {number_fits} are the sections
-- of those names.
--
-- Everything runs at READ COMMITTED, where each statement sees what was
-- committed before it began, and one that had to wait for a row looks at the
-- row again.  Times are taken by clock_timestamp(): now() is when the
-- transaction began, before it waited.

-- name: now
(extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- The tables.  A line's row is updated with every grant, so its page has room
-- for the new version and no index but the key's: then an update writes no
-- index.  Times, tokens and owners are never indexed for the same reason.

-- name: layout_1
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '4s';
SELECT pg_advisory_xact_lock(7521962890168442451);
CREATE TABLE IF NOT EXISTS {s}hf_line (
    name    bytea    NOT NULL,
    kind    smallint NOT NULL,
    token   bigint   NOT NULL DEFAULT 0,
    block   integer  NOT NULL DEFAULT 0,
    until   bigint   NOT NULL DEFAULT 0,
    owner   bigint   NOT NULL DEFAULT 0,
    client  bytea    NOT NULL DEFAULT '',
    asked   smallint NOT NULL DEFAULT 0,
    since   bigint   NOT NULL DEFAULT 0,
    kept    smallint NOT NULL DEFAULT 0,
    waits   integer  NOT NULL DEFAULT 0,
    ticket  bigint   NOT NULL DEFAULT 0,
    number  bigint,
    gone_at bigint,
    PRIMARY KEY (name, kind)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS {s}hf_hold (
    name    bytea    NOT NULL,
    kind    smallint NOT NULL,
    client  bytea    NOT NULL,
    owner   bigint   NOT NULL,
    token   bigint   NOT NULL,
    asked   smallint NOT NULL,
    permits integer  NOT NULL,
    nonce   bytea    NOT NULL,
    until   bigint   NOT NULL,
    since   bigint   NOT NULL,
    kept    smallint NOT NULL,
    PRIMARY KEY (name, kind, client, owner, token)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS {s}hf_wait (
    name    bytea    NOT NULL,
    kind    smallint NOT NULL,
    ticket  bigint   NOT NULL,
    client  bytea    NOT NULL,
    owner   bigint   NOT NULL,
    asked   smallint NOT NULL,
    permits integer  NOT NULL,
    nonce   bytea    NOT NULL,
    fifo    smallint NOT NULL,
    lease   bigint   NOT NULL,
    since   bigint   NOT NULL,
    until   bigint   NOT NULL,
    PRIMARY KEY (name, kind, ticket),
    UNIQUE (name, kind, client, owner)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS {s}hf_answer (
    name    bytea    NOT NULL,
    kind    smallint NOT NULL,
    nonce   bytea    NOT NULL,
    result  integer  NOT NULL,
    value   bigint   NOT NULL,
    until   bigint   NOT NULL,
    PRIMARY KEY (name, kind, nonce)
);
CREATE TABLE IF NOT EXISTS {s}hf_client (
    client  bytea    NOT NULL PRIMARY KEY,
    pid     bigint   NOT NULL,
    host    bytea    NOT NULL,
    program bytea    NOT NULL,
    login   bytea    NOT NULL,
    why     bytea    NOT NULL,
    until   bigint   NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS {s}hf_layout (
    version integer  NOT NULL PRIMARY KEY
);
INSERT INTO {s}hf_layout (version) VALUES (1) ON CONFLICT DO NOTHING;
ALTER TABLE {s}hf_client ADD COLUMN IF NOT EXISTS
    doing   bytea    NOT NULL DEFAULT '';
COMMIT

-- name: layout
SELECT max(version) FROM {s}hf_layout

-- A lock, by one statement.

-- name: take
-- What is not free is only read: that writes nothing.  The clock is read once,
-- before the row is waited for.  An old clock errs on the safe side: it takes
-- nothing that is not free, and the lease still began after the request left.
-- Most of what a statement costs is that it is parsed and planned; as an upsert
-- this one would cost twice as much.
WITH a AS (UPDATE {s}hf_line l
              SET token = CASE WHEN l.until > n.t THEN l.token
                          ELSE greatest(l.token + 1, n.t) + {block} - 1 END,
                  block = CASE WHEN l.until > n.t THEN l.block
                          ELSE {block} - 1 END,
                  since = CASE WHEN l.until > n.t THEN l.since ELSE n.t END,
                  until = n.t + {lease}, owner = {owner}, client = {client},
                  asked = {asked}, kept = 0
             FROM (SELECT {now} AS t) n
            WHERE l.name = {name} AND l.kind = {kind}
              AND ((l.until <= n.t AND l.waits = 0)
                   OR (l.until > n.t AND l.client = {client}
                       AND l.owner = {owner} AND l.kept = 0))
        RETURNING l.token, l.block)
SELECT (a.token IS NOT NULL)::int, coalesce(a.token, 0), coalesce(a.block, 0),
       x.until - {now}, x.waits
  FROM {s}hf_line x LEFT JOIN a ON true
 WHERE x.name = {name} AND x.kind = {kind}

-- name: take_first
INSERT INTO {s}hf_line (name, kind, token, block, until, owner, client, asked,
                        since)
SELECT {name}, {kind}, n.t + {block} - 1, {block} - 1, n.t + {lease}, {owner},
       {client}, {asked}, n.t
  FROM (SELECT {now} AS t) n
    ON CONFLICT DO NOTHING
RETURNING 1, token, block, 0, 0

-- name: free
-- A release that a crash of the server takes back costs others a lease at
-- most, so nobody waits for the disk.
UPDATE {s}hf_line l SET until = {now}
  FROM (SELECT set_config('synchronous_commit', 'off', true)) hurry
 WHERE l.name = {name} AND l.kind = {kind} AND l.client = {client}
   AND l.owner = {owner} AND l.until > {now} AND l.kept = 0 AND l.waits = 0

-- Renewals; a script has many of them.

-- name: renew
UPDATE {s}hf_line SET until = {now} + {lease}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner} AND until > {now} AND kept = 0

-- name: hold_renew
UPDATE {s}hf_hold SET until = {now} + {lease}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner} AND until > {now} AND kept = 0
   AND NOT EXISTS (SELECT 1 FROM {s}hf_line
                    WHERE name = {name} AND kind = {kind} AND gone_at <= {now})

-- name: keep_place
UPDATE {s}hf_wait SET until = {now} + {lease}
 WHERE name = {name} AND kind = {kind} AND client = {client}
   AND owner = {owner}

-- The turn.

-- name: begin
-- A client that stops in the middle must not keep a name from the others.
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '4s';
SET LOCAL idle_in_transaction_session_timeout = '5s'

-- name: lock_line
INSERT INTO {s}hf_line (name, kind) SELECT {name}, {kind} WHERE {may}
    ON CONFLICT DO NOTHING;
SELECT 1 FROM {s}hf_line
 WHERE name = {name} AND kind = {kind} AND {may} FOR UPDATE

-- name: lock_holds
-- Also those of a renewal under way, which is waited for.
SELECT count(*) FROM (SELECT 1 FROM {s}hf_hold
                       WHERE name = {name} AND kind = {kind} AND {may}
                         FOR UPDATE) h

-- name: view
SELECT 0 AS rank, encode(coalesce(l.client, ''), 'hex') AS client,
       coalesce(l.owner, 0) AS owner, coalesce(l.asked, 0) AS asked,
       0 AS permits, '' AS nonce, coalesce(l.token, 0) AS token,
       coalesce(l.block, 0)::bigint AS place, coalesce(l.until, 0) AS until,
       coalesce(l.since, 0) AS since, coalesce(l.kept, 0) AS flag,
       0::bigint AS lease, {now} AS now, coalesce(l.waits, -1) AS waits,
       coalesce(l.ticket, 0) AS ticket, l.number, l.gone_at
  FROM (SELECT 1) one
  LEFT JOIN {s}hf_line l ON l.name = {name} AND l.kind = {kind}
UNION ALL
SELECT 1, encode(client, 'hex'), owner, asked, permits, encode(nonce, 'hex'),
       token, token, until, since, kept, 0, 0, 0, 0, 0, 0
  FROM {s}hf_hold WHERE name = {name} AND kind = {kind}
UNION ALL
SELECT * FROM (SELECT 2, encode(client, 'hex'), owner, asked, permits,
                      encode(nonce, 'hex'), 0, ticket, until, since, fifo,
                      lease, 0, 0, 0, 0, 0
                 FROM {s}hf_wait WHERE name = {name} AND kind = {kind}
                ORDER BY ticket LIMIT {limit}) first
UNION ALL
SELECT 3, encode(client, 'hex'), owner, asked, permits, encode(nonce, 'hex'),
       0, ticket, until, since, fifo, lease, 0, 0, 0, 0, 0
  FROM {s}hf_wait
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
    ON CONFLICT (name, kind, nonce) DO UPDATE
   SET result = excluded.result, value = excluded.value, until = excluded.until

-- name: forget
DELETE FROM {s}hf_answer
 WHERE name = {name} AND kind = {kind} AND until <= {now}

-- name: tell
-- A client listens on a channel of its own; the note is sent by the commit.
SELECT pg_notify('hf_' || encode({client}, 'hex'), convert_from({note}, 'UTF8'))

-- In one round trip, where nobody waits.  What does not fit as it is looked at
-- is not locked, and takes no transaction number.  What does is decided about
-- behind the locks, by statements that see all that others committed.

-- name: may
-- The setting is the transaction's, and it is not set where nobody looked.
current_setting('hf.may', true) IS DISTINCT FROM 'false'

-- name: hold_fits
-- Who writes has the line's own kind; it gets along with nobody.
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
        OR l.number - (SELECT coalesce(sum(h.permits), 0) FROM {s}hf_hold h
                        WHERE h.name = {name} AND h.kind = {kind}
                          AND h.until > {now}) >= {permits})

-- name: hold_look
SELECT set_config('hf.may', coalesce(bool_and({hold_fits}),
                                     {permits} = 0)::text, true)
  FROM {s}hf_line l WHERE l.name = {name} AND l.kind = {kind}

-- name: hold_take
WITH ok AS (UPDATE {s}hf_line l
               SET token = greatest(l.token + 1, {now}), until = {now}
             WHERE l.name = {name} AND l.kind = {kind} AND {may}
               AND {hold_fits}
         RETURNING l.token)
INSERT INTO {s}hf_hold (name, kind, client, owner, token, asked, permits, nonce,
                        until, since, kept)
SELECT {name}, {kind}, {client}, {owner}, ok.token, {asked}, {permits}, {nonce},
       {now} + {lease}, {now}, 0
  FROM ok
RETURNING token

-- name: hold_free
-- As `free` does, without waiting for the disk.
DELETE FROM {s}hf_hold h
 USING {s}hf_line l, (SELECT set_config('synchronous_commit', 'off', true)) hurry
 WHERE h.name = {name} AND h.kind = {kind} AND h.client = {client}
   AND h.owner = {owner} AND h.until > {now} AND h.kept = 0
   AND l.name = {name} AND l.kind = {kind} AND l.waits = 0
   AND (l.gone_at IS NULL OR l.gone_at > {now})

-- name: number_fits
-- What becomes less lets nobody in, so it may pass those who wait.
l.number IS NOT NULL AND (l.gone_at IS NULL OR l.gone_at > {now})
   AND (l.waits = 0 OR {value} < 0)
   AND l.number + {value} - leased.n >= {least}
   AND NOT EXISTS (SELECT 1 FROM {s}hf_answer a
                    WHERE a.name = {name} AND a.kind = {kind}
                      AND a.nonce = {nonce})

-- name: number_look
WITH leased AS (SELECT coalesce(sum(permits), 0)::bigint AS n
                  FROM {s}hf_hold
                 WHERE name = {name} AND kind = {kind} AND until > {now})
SELECT set_config('hf.may', coalesce(bool_and({number_fits}), false)::text,
                  true)
  FROM {s}hf_line l, leased WHERE l.name = {name} AND l.kind = {kind}

-- name: number_add
WITH leased AS (SELECT coalesce(sum(permits), 0)::bigint AS n
                  FROM {s}hf_hold
                 WHERE name = {name} AND kind = {kind} AND until > {now}),
ok AS (UPDATE {s}hf_line l SET number = l.number + {value}
         FROM leased
        WHERE l.name = {name} AND l.kind = {kind} AND {may}
          AND {number_fits}
    RETURNING l.number - leased.n AS n)
INSERT INTO {s}hf_answer (name, kind, nonce, result, value, until)
SELECT {name}, {kind}, {nonce}, 0, ok.n, {now} + {lease} FROM ok
RETURNING value

-- name: hurry
-- What the transaction gives to others they confirm by a commit of their own,
-- which waits for the disk and for all that was committed before.
SET LOCAL synchronous_commit = off

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: calls
-- Of a session, before it prepares statements.  A plan that is kept must be good
-- for any name, and for tables that were small when it was made.
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET jit = off

-- Who is there.

-- name: announce
-- About once a second: in place, as grants are, and without waiting for the
-- disk, for a record that a crash takes away is written again soon.
INSERT INTO {s}hf_client (client, pid, host, program, login, why, until, doing)
SELECT {client}, {pid}, {host}, {program}, {login}, {why}, {now} + {lease},
       {doing}
  FROM (SELECT set_config('synchronous_commit', 'off', true)) hurry
    ON CONFLICT (client) DO UPDATE
   SET pid = excluded.pid, host = excluded.host, program = excluded.program,
       login = excluded.login, why = excluded.why, until = excluded.until,
       doing = excluded.doing

-- name: introduce
INSERT INTO {s}hf_client (client, pid, host, program, login, why, until)
VALUES ({client}, {pid}, {host}, {program}, {login}, {why}, {now} + {lease})
    ON CONFLICT (client) DO UPDATE
   SET pid = excluded.pid, host = excluded.host, program = excluded.program,
       login = excluded.login, why = excluded.why, until = excluded.until

-- name: take_leave
DELETE FROM {s}hf_client WHERE client = {client}

-- name: clients
SELECT encode(client, 'hex'), pid, encode(host, 'hex'), encode(program, 'hex'),
       encode(login, 'hex'), encode(why, 'hex'), encode(doing, 'hex')
  FROM {s}hf_client
 WHERE client > {client} AND until > {now}
 ORDER BY client LIMIT {limit}

-- name: edge
SELECT encode(e.name, 'hex')
  FROM (SELECT (SELECT name FROM {s}hf_line WHERE name >= {name}
                 ORDER BY name, kind OFFSET {limit} LIMIT 1) AS name
        UNION ALL
        SELECT (SELECT name FROM {s}hf_hold WHERE name >= {name}
                 ORDER BY name, kind, client, owner, token
                OFFSET {limit} LIMIT 1)
        UNION ALL
        SELECT (SELECT name FROM {s}hf_wait WHERE name >= {name}
                 ORDER BY name, kind, ticket OFFSET {limit} LIMIT 1)) e
 WHERE e.name IS NOT NULL
 ORDER BY e.name LIMIT 1

-- name: list
SELECT 0 AS rank, encode(l.name, 'hex') AS name, l.kind, '' AS client,
       0::bigint AS owner, l.kind AS asked, 0 AS permits, '' AS nonce,
       0::bigint AS token, l.gone_at - {now} AS ends, NULL::bigint AS age,
       l.number, 0::bigint AS place,
       NULL::bigint AS pid, '' AS host, '' AS program, '' AS login, '' AS why
  FROM {s}hf_line l
 WHERE l.number IS NOT NULL AND (l.gone_at IS NULL OR l.gone_at > {now})
   AND l.name >= {name}
   AND ({all} = 1 OR l.name <= {last})
UNION ALL
SELECT 1, encode(l.name, 'hex'), l.kind, encode(l.client, 'hex'), l.owner,
       l.asked, 0, '', l.token - l.block, l.until - {now}, {now} - l.since,
       0, 0, p.pid, encode(p.host, 'hex'), encode(p.program, 'hex'),
       encode(p.login, 'hex'), encode(p.why, 'hex')
  FROM {s}hf_line l LEFT JOIN {s}hf_client p ON p.client = l.client
 WHERE l.until > {now} AND l.client <> '' AND l.name >= {name}
   AND ({all} = 1 OR l.name <= {last})
UNION ALL
SELECT 1, encode(h.name, 'hex'), h.kind, encode(h.client, 'hex'), h.owner,
       h.asked, h.permits, encode(h.nonce, 'hex'), h.token, h.until - {now},
       {now} - h.since, 0, h.token, p.pid, encode(p.host, 'hex'),
       encode(p.program, 'hex'), encode(p.login, 'hex'), encode(p.why, 'hex')
  FROM {s}hf_hold h LEFT JOIN {s}hf_client p ON p.client = h.client
 WHERE h.until > {now} AND h.name >= {name}
   AND ({all} = 1 OR h.name <= {last})
   AND NOT EXISTS (SELECT 1 FROM {s}hf_line l
                    WHERE l.name = h.name AND l.kind = h.kind
                      AND l.gone_at <= {now})
UNION ALL
SELECT 2, encode(w.name, 'hex'), w.kind, encode(w.client, 'hex'), w.owner,
       w.asked, w.permits, encode(w.nonce, 'hex'), 0, NULL, {now} - w.since,
       0, w.ticket, p.pid, encode(p.host, 'hex'), encode(p.program, 'hex'),
       encode(p.login, 'hex'), encode(p.why, 'hex')
  FROM {s}hf_wait w LEFT JOIN {s}hf_client p ON p.client = w.client
 WHERE w.until > {now} AND w.name >= {name}
   AND ({all} = 1 OR w.name <= {last})
 ORDER BY 2, 3, 1, 13

-- What is over for long; nobody is kept waiting for it.

-- name: tidy_clients
DELETE FROM {s}hf_client WHERE until <= {now} - {lease}

-- name: tidy_answers
DELETE FROM {s}hf_answer WHERE until <= {now} - {lease}

-- name: tidy_waits
DELETE FROM {s}hf_wait WHERE until <= {now} - {lease}

-- name: tidy_holds
DELETE FROM {s}hf_hold WHERE until <= {now} - {lease}

-- name: tidy_lines
-- Safe only because a new row's token begins at the clock, above the old one.
DELETE FROM {s}hf_line l
 WHERE l.until <= {now} - {lease} AND l.token <= {now} - {lease}
   AND l.waits = 0
   AND (l.number IS NULL OR l.gone_at <= {now} - {lease})
   AND NOT EXISTS (SELECT 1 FROM {s}hf_wait w
                    WHERE w.name = l.name AND w.kind = l.kind)
   AND NOT EXISTS (SELECT 1 FROM {s}hf_hold h
                    WHERE h.name = l.name AND h.kind = l.kind)
   AND NOT EXISTS (SELECT 1 FROM {s}hf_answer a
                    WHERE a.name = l.name AND a.kind = l.kind)
