-- session.sql - locks that belong to a session, on PostgreSQL: advisory ones.
--
-- What a statement is for is in ../tables/session.h.

-- name: now
(extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: lock
{key}

-- name: settle
-- Only what this server knows.  An idle session is ended after a while, so that
-- a host that vanished without a word does not keep its locks for hours.
SELECT set_config(name, CASE name WHEN 'client_connection_check_interval'
                             THEN '1s' ELSE {idle} || 's' END, false)
  FROM pg_settings
 WHERE name IN ('idle_session_timeout', 'client_connection_check_interval');
SELECT pg_backend_pid()

-- name: id
SELECT pg_backend_pid()

-- name: pin
BEGIN;
SELECT pg_backend_pid()

-- name: take
SELECT pg_try_advisory_lock({lock})::int, pg_backend_pid()

-- name: token
INSERT INTO {s}hf_line AS l (name, kind, token, owner, client, since)
VALUES ({name}, 0, {now}, {owner}, {client}, {now})
    ON CONFLICT (name, kind) DO UPDATE
   SET token = greatest(l.token + 1, {now}), block = 0, owner = {owner},
       client = {client}, asked = 0, since = {now}, kept = 0
 WHERE l.until <= {now};
SELECT (client = {client} AND owner = {owner} AND until <= {now})::int, token,
       until - {now}
  FROM {s}hf_line WHERE name = {name} AND kind = 0

-- name: free
SELECT pg_advisory_unlock({lock})::int

-- name: keep
UPDATE {s}hf_line SET until = {now} + {lease}, kept = 1
 WHERE name = {name} AND kind = 0 AND client = {client} AND owner = {owner};
SELECT pg_advisory_unlock({lock})::int

-- name: force
UPDATE {s}hf_line SET token = greatest(token + 1, {now}), block = 0,
       until = least(until, {now})
 WHERE name = {name} AND kind = 0

-- name: last
SELECT token, greatest(until - {now}, 0) FROM {s}hf_line
 WHERE name = {name} AND kind = 0

-- name: holder
SELECT pid FROM pg_locks
 WHERE locktype = 'advisory' AND granted AND objsubid = 1
   AND database = (SELECT oid FROM pg_database
                    WHERE datname = current_database())
   AND classid::bigint = (({key})::bigint >> 32) & 4294967295
   AND objid::bigint = ({key})::bigint & 4294967295

-- name: held
SELECT classid::bigint << 32 | objid::bigint FROM pg_locks
 WHERE locktype = 'advisory' AND granted AND objsubid = 1
   AND database = (SELECT oid FROM pg_database
                    WHERE datname = current_database())

-- name: end
SELECT pg_terminate_backend({id})

-- name: list
SELECT encode(l.name, 'hex'), encode(l.client, 'hex'), l.owner, l.token,
       {now} - l.since, l.until - {now}, p.pid, encode(p.host, 'hex'),
       encode(p.program, 'hex'), encode(p.login, 'hex'), encode(p.why, 'hex')
  FROM {s}hf_line l LEFT JOIN {s}hf_client p ON p.client = l.client
 WHERE l.kind = 0 AND l.name >= {name} AND ({all} = 1 OR l.name = {name})
 ORDER BY l.name LIMIT {limit}
