-- session.sql - locks that belong to a session, on MariaDB and MySQL: those of
-- GET_LOCK.
--
-- What a statement is for is in ../tables/session.h.  Such locks are the whole
-- server's, so that the database is a part of their name; 64 characters is what
-- MySQL takes.  UTC_TIMESTAMP is one moment for a whole statement.

-- name: now
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))

-- name: lock
CONCAT('hf:', LEFT(SHA1(DATABASE()), 12), ':', {key})

-- name: settle
-- An idle session is ended after a while, so that a host that vanished without
-- a word does not keep its locks for hours.
SET SESSION wait_timeout = {idle};
SELECT CONNECTION_ID()

-- name: id
SELECT CONNECTION_ID()

-- name: pin
START TRANSACTION;
SELECT CONNECTION_ID()

-- name: take
SELECT COALESCE(GET_LOCK({lock}, 0), 0), CONNECTION_ID()

-- name: token
INSERT INTO {s}hf_line (name, kind, token, owner, client, since)
VALUES ({name}, 0, {now}, {owner}, {client}, {now})
    ON DUPLICATE KEY UPDATE
       token = IF(until <= {now}, GREATEST(token + 1, {now}), token),
       block = IF(until <= {now}, 0, block),
       owner = IF(until <= {now}, {owner}, owner),
       asked = IF(until <= {now}, 0, asked),
       kept = IF(until <= {now}, 0, kept),
       since = IF(until <= {now}, {now}, since),
       client = IF(until <= {now}, {client}, client);
SELECT client = {client} AND owner = {owner} AND until <= {now}, token,
       until - {now}
  FROM {s}hf_line WHERE name = {name} AND kind = 0

-- name: free
SELECT COALESCE(RELEASE_LOCK({lock}), 0)

-- name: keep
UPDATE {s}hf_line SET until = {now} + {lease}, kept = 1
 WHERE name = {name} AND kind = 0 AND client = {client} AND owner = {owner};
SELECT COALESCE(RELEASE_LOCK({lock}), 0)

-- name: force
UPDATE {s}hf_line SET token = GREATEST(token + 1, {now}), block = 0,
       until = LEAST(until, {now})
 WHERE name = {name} AND kind = 0

-- name: last
SELECT token, GREATEST(until - {now}, 0) FROM {s}hf_line
 WHERE name = {name} AND kind = 0

-- name: holder
SELECT IS_USED_LOCK({lock}) FROM DUAL WHERE IS_USED_LOCK({lock}) IS NOT NULL

-- name: held

-- name: end
KILL {id}

-- name: list
SELECT HEX(l.name), HEX(l.client), l.owner, l.token, {now} - l.since,
       l.until - {now}, p.pid, HEX(p.host), HEX(p.program), HEX(p.login),
       HEX(p.why)
  FROM {s}hf_line l LEFT JOIN {s}hf_client p ON p.client = l.client
 WHERE l.kind = 0 AND l.name >= {name} AND ({all} = 1 OR l.name = {name})
 ORDER BY l.name LIMIT {limit}
