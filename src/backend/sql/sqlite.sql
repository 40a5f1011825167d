-- sqlite.sql - the embedded store's tables and statements.
--
-- Every statement numbers its parameters alike:
--   ?1 kind  ?2 name  ?3 owner  ?4 our client  ?5 this boot  ?6 now
--   ?7 until ?8 token floor     ?9 what the statement itself says
-- Times are microseconds of CLOCK_BOOTTIME, valid with their boot; the token's
-- floor is the wall clock, the only place where that one stands.

-- name: schema
-- A row stays after its release: it carries the token, and `until` says since
-- when the name is free.  `kept`: it lasts until then whoever lives or dies.
CREATE TABLE hf_lock (
    id     INTEGER PRIMARY KEY,
    name   TEXT    NOT NULL,
    kind   INTEGER NOT NULL,
    owner  INTEGER NOT NULL,
    client TEXT    NOT NULL,
    boot   INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    since  INTEGER NOT NULL,
    kept   INTEGER NOT NULL,
    token  INTEGER NOT NULL,
    UNIQUE (name, kind)
);
CREATE TABLE hf_wait (
    name   TEXT    NOT NULL,
    kind   INTEGER NOT NULL,
    ticket INTEGER NOT NULL,
    owner  INTEGER NOT NULL,
    client TEXT    NOT NULL,
    since  INTEGER NOT NULL,
    PRIMARY KEY (name, kind, ticket)
) WITHOUT ROWID;
-- A client without a row here is dead, and holds nothing.
CREATE TABLE hf_client (
    client  TEXT    NOT NULL PRIMARY KEY,
    boot    INTEGER NOT NULL,
    pidns   INTEGER NOT NULL,
    pid     INTEGER NOT NULL,
    host    TEXT    NOT NULL,
    program TEXT    NOT NULL,
    user    TEXT    NOT NULL,
    why     TEXT    NOT NULL
) WITHOUT ROWID;

-- name: take
-- The whole acquisition of a free name.  Nobody is overtaken: without ?9
-- (decided already, inside a transaction) a line in front makes it refuse.
INSERT INTO hf_lock
       (name, kind, owner, client, boot, until, since, kept, token)
SELECT ?2, ?1, ?3, ?4, ?5, ?7, ?6, 0, ?8
 WHERE ?9 OR NOT EXISTS (SELECT 1 FROM hf_wait WHERE name = ?2 AND kind = ?1)
    ON CONFLICT (name, kind) DO UPDATE
   SET owner = excluded.owner, client = excluded.client,
       boot = excluded.boot, until = excluded.until,
       since = excluded.since, kept = 0,
       token = max(token + 1, excluded.token)
 WHERE ?9 OR until <= ?6 OR boot <> ?5
RETURNING token, id

-- Who holds is found by the row's number ?9, which a grant told; NULL where
-- it is not known.  For free, keep and renew alike.
-- name: free
-- Tells who is first in the line.
UPDATE hf_lock SET until = ?6
 WHERE id = coalesce(?9, (SELECT id FROM hf_lock
                           WHERE name = ?2 AND kind = ?1))
   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5 AND NOT kept
RETURNING (SELECT client FROM hf_wait WHERE name = ?2 AND kind = ?1
            ORDER BY ticket LIMIT 1)

-- name: keep
UPDATE hf_lock SET until = ?7, kept = 1
 WHERE id = coalesce(?9, (SELECT id FROM hf_lock
                           WHERE name = ?2 AND kind = ?1))
   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5 AND NOT kept

-- name: renew
UPDATE hf_lock SET until = ?7
 WHERE id = coalesce(?9, (SELECT id FROM hf_lock
                           WHERE name = ?2 AND kind = ?1))
   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5 AND NOT kept

-- name: force
-- ?9: only this client's ?3; NULL: whoever holds.
UPDATE hf_lock SET until = ?6, token = max(token + 1, ?8)
 WHERE name = ?2 AND kind = ?1 AND until > ?6 AND boot = ?5
   AND (?9 IS NULL OR (client = ?9 AND owner = ?3))

-- name: vacate
-- The holder is dead.
UPDATE hf_lock SET until = ?6 WHERE name = ?2 AND kind = ?1

-- name: look
-- The name as it is held, and by whom.
SELECT l.client, p.boot IS ?5, p.pidns, p.pid,
       l.owner, l.token, l.until, l.kept, l.until > ?6 AND l.boot = ?5, l.id
  FROM hf_lock l LEFT JOIN hf_client p ON p.client = l.client
 WHERE l.name = ?2 AND l.kind = ?1

-- name: token
-- Of the last grant.
SELECT token FROM hf_lock WHERE name = ?2 AND kind = ?1

-- name: place
-- Our own place; ?9 is where to begin the search.
SELECT ticket FROM hf_wait
 WHERE name = ?2 AND kind = ?1 AND ticket >= ?9 AND owner = ?3 AND client = ?4
 LIMIT 1

-- name: ahead
-- The nearest before the ticket ?9.
SELECT w.client, p.boot IS ?5, p.pidns, p.pid
  FROM hf_wait w LEFT JOIN hf_client p ON p.client = w.client
 WHERE w.name = ?2 AND w.kind = ?1 AND w.ticket < ?9
 ORDER BY w.ticket DESC LIMIT 1

-- name: count
SELECT count(*) FROM hf_wait WHERE name = ?2 AND kind = ?1 AND ticket < ?9

-- name: head
SELECT w.client, p.boot IS ?5, p.pidns, p.pid
  FROM hf_wait w LEFT JOIN hf_client p ON p.client = w.client
 WHERE w.name = ?2 AND w.kind = ?1
 ORDER BY w.ticket LIMIT 1

-- name: join
INSERT INTO hf_wait (name, kind, ticket, owner, client, since)
SELECT ?2, ?1, coalesce(max(ticket), 0) + 1, ?3, ?4, ?6
  FROM hf_wait WHERE name = ?2 AND kind = ?1
RETURNING ticket

-- name: leave
DELETE FROM hf_wait
 WHERE name = ?2 AND kind = ?1 AND ticket >= ?9 AND owner = ?3 AND client = ?4

-- name: forget
-- A dead client leaves this line; others find it dead by its missing record.
DELETE FROM hf_wait WHERE name = ?2 AND kind = ?1 AND client = ?9

-- name: bury
DELETE FROM hf_client WHERE client = ?9

-- name: introduce
INSERT OR REPLACE INTO hf_client
       (client, boot, pidns, pid, host, program, user, why)
VALUES (?4, ?5, ?9, ?10, ?11, ?12, ?13, ?14)

-- name: known
SELECT 1 FROM hf_client WHERE client = ?4

-- name: next
-- The client whose id follows ?9.
SELECT client, boot IS ?5, pidns, pid FROM hf_client
 WHERE client > ?9 ORDER BY client LIMIT 1

-- name: list
-- Names from ?2 to ?9.
SELECT l.client, p.boot IS ?5, p.pidns, p.pid, l.owner, l.token,
       l.name, l.kind, 1 AS holds, l.until, l.since, l.kept,
       p.host, p.program, p.user, p.why, 0 AS ticket
  FROM hf_lock l LEFT JOIN hf_client p ON p.client = l.client
 WHERE l.name BETWEEN ?2 AND ?9 AND l.until > ?6 AND l.boot = ?5
UNION ALL
SELECT w.client, p.boot IS ?5, p.pidns, p.pid, w.owner, 0,
       w.name, w.kind, 0, 0, w.since, 0,
       p.host, p.program, p.user, p.why, w.ticket
  FROM hf_wait w LEFT JOIN hf_client p ON p.client = w.client
 WHERE w.name BETWEEN ?2 AND ?9
 ORDER BY 7, 8, holds DESC, ticket

-- name: tidy_waits
DELETE FROM hf_wait WHERE client NOT IN (SELECT client FROM hf_client)

-- name: tidy_locks
-- Safe only because a new row's token starts at the clock, above the old one.
DELETE FROM hf_lock
 WHERE (until < ?9 OR boot <> ?5)
   AND NOT EXISTS (SELECT 1 FROM hf_wait w
                    WHERE w.name = hf_lock.name AND w.kind = hf_lock.kind)
