-- sqlite.sql - the embedded store's tables and statements.
--
-- Every statement numbers its parameters alike:
--   ?1 kind  ?2 name  ?3 owner  ?4 our client  ?5 this boot  ?6 now
--   ?7 until ?8 token floor     ?9 what the statement itself says
--   ?10 the kind that was asked for  ?11 permits  ?12 nonce  ?13 keeps to
--   the line; unless it says otherwise
-- The kind is the line's: LOCK for the lock, the fair and the spinning one,
-- WRITE for readers too, SEMAPHORE for permits too.  Times are microseconds of
-- CLOCK_BOOTTIME, valid with their boot; the token's floor is the wall clock,
-- the only place where that one stands.

-- The tables: each layout is made out of the one before, in a new file as in
-- an old one.  Columns that came later have defaults for whoever still has the
-- file open and knows the earlier layout only.

-- name: layout_1
-- A row is a line and carries its token.  Of a lock it is the holder as well,
-- and stays after its release: `until` says since when the name is free.
-- `kept`: it lasts until then whoever lives or dies.
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

-- name: layout_2
ALTER TABLE hf_lock ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hf_wait ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hf_wait ADD COLUMN permits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hf_wait ADD COLUMN nonce BLOB NOT NULL DEFAULT x'';
ALTER TABLE hf_wait ADD COLUMN fifo INTEGER NOT NULL DEFAULT 1;
-- Readers, writers and leased permits, who may hold together.
CREATE TABLE hf_hold (
    id      INTEGER PRIMARY KEY,
    name    TEXT    NOT NULL,
    kind    INTEGER NOT NULL,
    asked   INTEGER NOT NULL,
    owner   INTEGER NOT NULL,
    client  TEXT    NOT NULL,
    boot    INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    kept    INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    permits INTEGER NOT NULL,
    nonce   BLOB    NOT NULL
);
CREATE INDEX hf_hold_line ON hf_hold (name, kind);
-- A semaphore that is set, its leased permits counted in, or a latch.
CREATE TABLE hf_number (
    name    TEXT    NOT NULL,
    kind    INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    boot    INTEGER NOT NULL,
    gone_at INTEGER,
    PRIMARY KEY (name, kind)
) WITHOUT ROWID;
-- What was answered to a request about a number, should it come again.
CREATE TABLE hf_answer (
    name   TEXT    NOT NULL,
    kind   INTEGER NOT NULL,
    nonce  BLOB    NOT NULL,
    result INTEGER NOT NULL,
    value  INTEGER NOT NULL,
    boot   INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (name, kind, nonce)
) WITHOUT ROWID;
CREATE INDEX hf_answer_until ON hf_answer (until);

-- name: layout_3
-- What it holds and waits for, as it says itself.
ALTER TABLE hf_client ADD COLUMN doing TEXT NOT NULL DEFAULT '';

-- The lock: one holder, in the row of the name.

-- name: take
-- The whole acquisition of a free name.  Nobody is overtaken: without ?9
-- (decided already, inside a transaction) a line in front makes it refuse.
INSERT INTO hf_lock
       (name, kind, owner, client, boot, until, since, kept, token, asked)
SELECT ?2, ?1, ?3, ?4, ?5, ?7, ?6, 0, ?8, ?10
 WHERE ?9 OR NOT EXISTS (SELECT 1 FROM hf_wait WHERE name = ?2 AND kind = ?1)
    ON CONFLICT (name, kind) DO UPDATE
   SET owner = excluded.owner, client = excluded.client,
       boot = excluded.boot, until = excluded.until,
       since = excluded.since, kept = 0, asked = excluded.asked,
       token = max(token + 1, excluded.token)
 WHERE ?9 OR until <= ?6 OR boot <> ?5
RETURNING token, id

-- Who holds is found by the row's number ?9, which a grant told; NULL where
-- it is not known.  For free, keep and renew alike.
-- name: free
-- Tells whether anybody waits.
UPDATE hf_lock SET until = ?6
 WHERE id = coalesce(?9, (SELECT id FROM hf_lock
                           WHERE name = ?2 AND kind = ?1))
   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5 AND NOT kept
RETURNING EXISTS (SELECT 1 FROM hf_wait WHERE name = ?2 AND kind = ?1)

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

-- name: vacate
-- The holder is dead, or thrown out.
UPDATE hf_lock SET until = ?6 WHERE name = ?2 AND kind = ?1

-- name: look
-- The name as it is held, and by whom.
SELECT l.client, p.boot IS ?5, p.pidns, p.pid,
       l.owner, l.token, l.until, l.kept, l.until > ?6 AND l.boot = ?5, l.id,
       l.asked
  FROM hf_lock l LEFT JOIN hf_client p ON p.client = l.client
 WHERE l.name = ?2 AND l.kind = ?1

-- name: token
-- Of the last grant.
SELECT token FROM hf_lock WHERE name = ?2 AND kind = ?1

-- name: raise
-- The next token of a line.
INSERT INTO hf_lock
       (name, kind, owner, client, boot, until, since, kept, token, asked)
VALUES (?2, ?1, 0, '', ?5, ?6, ?6, 0, ?8, ?1)
    ON CONFLICT (name, kind) DO UPDATE
   SET token = max(token + 1, excluded.token), boot = excluded.boot,
       until = excluded.until
RETURNING token

-- Who waits, for whatever.

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
-- The first for whom the lock is free.
SELECT w.client, p.boot IS ?5, p.pidns, p.pid, w.asked, w.owner
  FROM hf_wait w LEFT JOIN hf_client p ON p.client = w.client
 WHERE w.name = ?2 AND w.kind = ?1
   AND NOT EXISTS (SELECT 1 FROM hf_lock
                    WHERE name = ?2 AND kind = ?1 AND until > ?6 AND boot = ?5)
 ORDER BY w.ticket LIMIT 1

-- name: join
INSERT INTO hf_wait (name, kind, ticket, owner, client, since, asked, permits,
                     nonce, fifo)
SELECT ?2, ?1, coalesce(max(ticket), 0) + 1, ?3, ?4, ?6, ?10, ?11, ?12, ?13
  FROM hf_wait WHERE name = ?2 AND kind = ?1
RETURNING ticket

-- name: leave
DELETE FROM hf_wait
 WHERE name = ?2 AND kind = ?1 AND ticket >= ?9 AND owner = ?3 AND client = ?4

-- name: forget
-- A dead client leaves this line; others find it dead by its missing record.
DELETE FROM hf_wait WHERE name = ?2 AND kind = ?1 AND client = ?9

-- Where several may hold.

-- name: state
-- Of the line: free since when; its number, whether that has vanished, when.
SELECT coalesce((SELECT until FROM hf_lock
                  WHERE name = ?2 AND kind = ?1 AND boot = ?5), 0),
       n.number, n.gone_at IS NOT NULL AND (n.gone_at <= ?6 OR n.boot <> ?5),
       n.gone_at
  FROM (SELECT 1) LEFT JOIN hf_number n ON n.name = ?2 AND n.kind = ?1

-- name: holds
SELECT h.client, p.boot IS ?5, p.pidns, p.pid, h.owner, h.asked, h.permits,
       h.nonce, h.id, h.until, h.kept, h.token, h.until > ?6 AND h.boot = ?5
  FROM hf_hold h LEFT JOIN hf_client p ON p.client = h.client
 WHERE h.name = ?2 AND h.kind = ?1
 ORDER BY h.id

-- name: waits
-- Before the ticket ?9.
SELECT w.client, p.boot IS ?5, p.pidns, p.pid, w.owner, w.asked, w.permits,
       w.nonce, w.ticket, w.fifo
  FROM hf_wait w LEFT JOIN hf_client p ON p.client = w.client
 WHERE w.name = ?2 AND w.kind = ?1 AND w.ticket < ?9
 ORDER BY w.ticket

-- name: hold
-- With the token ?9.
INSERT INTO hf_hold (name, kind, asked, owner, client, boot, until, since, kept,
                     token, permits, nonce)
VALUES (?2, ?1, ?10, ?3, ?4, ?5, ?7, ?6, 0, ?9, ?11, ?12)
RETURNING id

-- Holds are found as locks are, and are none when their number has vanished.
-- name: hold_free
-- Tells whether anybody waits.
DELETE FROM hf_hold
 WHERE id = coalesce(?9, (SELECT id FROM hf_hold
                           WHERE name = ?2 AND kind = ?1 AND client = ?4
                             AND owner = ?3 AND NOT kept))
   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5 AND NOT kept
   AND NOT EXISTS (SELECT 1 FROM hf_number
                    WHERE name = ?2 AND kind = ?1 AND gone_at IS NOT NULL
                      AND (gone_at <= ?6 OR boot <> ?5))
RETURNING EXISTS (SELECT 1 FROM hf_wait WHERE name = ?2 AND kind = ?1)

-- name: hold_keep
UPDATE hf_hold SET until = ?7, kept = 1
 WHERE id = coalesce(?9, (SELECT id FROM hf_hold
                           WHERE name = ?2 AND kind = ?1 AND client = ?4
                             AND owner = ?3 AND NOT kept))
   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5 AND NOT kept
   AND NOT EXISTS (SELECT 1 FROM hf_number
                    WHERE name = ?2 AND kind = ?1 AND gone_at IS NOT NULL
                      AND (gone_at <= ?6 OR boot <> ?5))

-- name: hold_renew
UPDATE hf_hold SET until = ?7
 WHERE id = coalesce(?9, (SELECT id FROM hf_hold
                           WHERE name = ?2 AND kind = ?1 AND client = ?4
                             AND owner = ?3 AND NOT kept))
   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5 AND NOT kept
   AND NOT EXISTS (SELECT 1 FROM hf_number
                    WHERE name = ?2 AND kind = ?1 AND gone_at IS NOT NULL
                      AND (gone_at <= ?6 OR boot <> ?5))

-- name: hold_drop
DELETE FROM hf_hold WHERE id = ?9

-- name: hold_drop_over
DELETE FROM hf_hold
 WHERE name = ?2 AND kind = ?1 AND (until <= ?6 OR boot <> ?5)

-- name: hold_drop_all
DELETE FROM hf_hold WHERE name = ?2 AND kind = ?1

-- name: hold_forget
-- A dead client holds nothing in this line.
DELETE FROM hf_hold
 WHERE name = ?2 AND kind = ?1 AND client = ?9 AND NOT kept

-- name: freed
-- Nobody holds since ?9.
UPDATE hf_lock SET until = ?9, boot = ?5 WHERE name = ?2 AND kind = ?1

-- Numbers.

-- name: set
-- To ?9.  A new one vanishes at ?10, unless NULL.
INSERT INTO hf_number (name, kind, number, boot, gone_at)
VALUES (?2, ?1, ?9, ?5, ?10)
    ON CONFLICT (name, kind) DO UPDATE SET number = excluded.number

-- name: unset
DELETE FROM hf_number WHERE name = ?2 AND kind = ?1

-- name: recall
SELECT result, value FROM hf_answer
 WHERE name = ?2 AND kind = ?1 AND nonce = ?12

-- name: remember
-- The result ?9 and the value ?10.
INSERT OR REPLACE INTO hf_answer
       (name, kind, nonce, result, value, boot, until)
VALUES (?2, ?1, ?12, ?9, ?10, ?5, ?7)

-- name: prune
-- Whoever remembers an answer forgets some, so that no heap of them grows.
DELETE FROM hf_answer
 WHERE (name, kind, nonce) IN (SELECT name, kind, nonce FROM hf_answer
                                WHERE until <= ?6 ORDER BY until LIMIT 4)

-- Clients.

-- name: bury
DELETE FROM hf_client WHERE client = ?9

-- name: introduce
-- ?9 to ?15 are what it says of itself.
INSERT OR REPLACE INTO hf_client
       (client, boot, pidns, pid, host, program, user, why, doing)
VALUES (?4, ?5, ?9, ?10, ?11, ?12, ?13, ?14, ?15)

-- name: known
-- Does our record say ?9?
SELECT doing IS ?9 FROM hf_client WHERE client = ?4

-- name: say
UPDATE hf_client SET doing = ?9 WHERE client = ?4

-- name: next
-- The client whose id follows ?9.
SELECT client, boot IS ?5, pidns, pid FROM hf_client
 WHERE client > ?9 ORDER BY client LIMIT 1

-- name: clients
-- Some of those whose ids follow ?9.
SELECT client, boot IS ?5, pidns, pid, host, program, user, why, doing
  FROM hf_client
 WHERE client > ?9 ORDER BY client LIMIT 64

-- name: page
-- The name ?9 rows behind ?2, in the table where that comes first; NULL: there
-- are less.  Indexes tell it, and no row is read.
SELECT min(name)
  FROM (SELECT * FROM (SELECT name FROM hf_lock WHERE name >= ?2
                        ORDER BY name LIMIT 1 OFFSET ?9)
        UNION ALL
        SELECT * FROM (SELECT name FROM hf_hold WHERE name >= ?2
                        ORDER BY name LIMIT 1 OFFSET ?9)
        UNION ALL
        SELECT * FROM (SELECT name FROM hf_wait WHERE name >= ?2
                        ORDER BY name LIMIT 1 OFFSET ?9)
        UNION ALL
        SELECT * FROM (SELECT name FROM hf_number WHERE name >= ?2
                        ORDER BY name LIMIT 1 OFFSET ?9))

-- name: list
-- Names from ?2 to ?9; of each line its number, who holds, who waits.
SELECT NULL AS client, NULL, NULL, NULL, 0, 0 AS token, n.name, n.kind,
       0 AS rank, n.gone_at, 0, 0, n.kind AS asked, 0, NULL, n.number,
       NULL, NULL, NULL, NULL, 0 AS place
  FROM hf_number n
 WHERE n.name BETWEEN ?2 AND ?9
   AND (n.gone_at IS NULL OR (n.gone_at > ?6 AND n.boot = ?5))
UNION ALL
SELECT l.client, p.boot IS ?5, p.pidns, p.pid, l.owner, l.token, l.name, l.kind,
       1, l.until, l.since, l.kept, l.asked, 0, NULL, 0,
       p.host, p.program, p.user, p.why, 0
  FROM hf_lock l LEFT JOIN hf_client p ON p.client = l.client
 WHERE l.name BETWEEN ?2 AND ?9 AND l.until > ?6 AND l.boot = ?5
UNION ALL
SELECT h.client, p.boot IS ?5, p.pidns, p.pid, h.owner, h.token, h.name, h.kind,
       1, h.until, h.since, h.kept, h.asked, h.permits, h.nonce, 0,
       p.host, p.program, p.user, p.why, h.id
  FROM hf_hold h LEFT JOIN hf_client p ON p.client = h.client
 WHERE h.name BETWEEN ?2 AND ?9 AND h.until > ?6 AND h.boot = ?5
   AND NOT EXISTS (SELECT 1 FROM hf_number n
                    WHERE n.name = h.name AND n.kind = h.kind
                      AND n.gone_at IS NOT NULL
                      AND (n.gone_at <= ?6 OR n.boot <> ?5))
UNION ALL
SELECT w.client, p.boot IS ?5, p.pidns, p.pid, w.owner, 0, w.name, w.kind,
       2, 0, w.since, 0, w.asked, w.permits, w.nonce, 0,
       p.host, p.program, p.user, p.why, w.ticket
  FROM hf_wait w LEFT JOIN hf_client p ON p.client = w.client
 WHERE w.name BETWEEN ?2 AND ?9
 ORDER BY 7, 8, rank, place

-- name: tidy_waits
DELETE FROM hf_wait WHERE client NOT IN (SELECT client FROM hf_client)

-- name: tidy_numbers
DELETE FROM hf_number
 WHERE gone_at IS NOT NULL AND (gone_at <= ?6 OR boot <> ?5)

-- name: tidy_holds
-- Also what was leased out of a number that is no more; ?9 is their kind.
DELETE FROM hf_hold
 WHERE until <= ?6 OR boot <> ?5
    OR (NOT kept AND client NOT IN (SELECT client FROM hf_client))
    OR (kind = ?9 AND NOT EXISTS (SELECT 1 FROM hf_number n
                                   WHERE n.name = hf_hold.name
                                     AND n.kind = hf_hold.kind))

-- name: tidy_answers
DELETE FROM hf_answer WHERE until <= ?6 OR boot <> ?5

-- name: tidy_locks
-- Safe only because a new row's token starts at the clock, above the old one.
DELETE FROM hf_lock
 WHERE (until < ?9 OR boot <> ?5)
   AND NOT EXISTS (SELECT 1 FROM hf_wait w
                    WHERE w.name = hf_lock.name AND w.kind = hf_lock.kind)
   AND NOT EXISTS (SELECT 1 FROM hf_hold h
                    WHERE h.name = hf_lock.name AND h.kind = hf_lock.kind)
