-- shedlock.sql - ShedLock's table, on MariaDB and MySQL.
--
-- What a statement is for is in ../tables/shedlock.h.  ShedLock writes UTC into
-- columns that the session's zone has a say in, so that everybody must have the
-- same: the server's, which is what Java's drivers leave alone.
--
-- UTC_TIMESTAMP is when the statement began, also after it had to wait for the
-- row: what ended meanwhile is still called held, and asked for again.

-- name: now
UTC_TIMESTAMP(3)

-- name: first
SET time_zone = {zone}

-- name: find
SELECT COUNT(*) > 0, COALESCE(SUM(column_name = 'lock_until'), 0),
       COALESCE(SUM(column_name = 'hf_token'), 0),
       COALESCE(SUM(column_name = 'name' AND collation_name LIKE '%\_bin'), 0)
  FROM information_schema.columns
 WHERE table_schema = CASE WHEN {schema} = '' THEN DATABASE()
                      ELSE CONVERT({schema} USING utf8mb4) END
   AND table_name = CONVERT({table} USING utf8mb4)

-- name: make
CREATE TABLE IF NOT EXISTS {t} (
    name       VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    lock_until TIMESTAMP(3) NOT NULL,
    locked_at  TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    locked_by  VARCHAR(255) NOT NULL,
    hf_token   BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
)

-- name: extend
ALTER TABLE {t} ADD COLUMN hf_token BIGINT NOT NULL DEFAULT 0

-- name: take
-- Assignments are seen from left to right: lock_until, which decides, is last.
-- The columns have milliseconds, so that a lease is rounded up to the next.
INSERT INTO {t} (name, lock_until, locked_at, locked_by, hf_token)
VALUES (_utf8mb4 {name},
        TIMESTAMPADD(MICROSECOND, {lease} + 999, UTC_TIMESTAMP(6)), {now},
        _utf8mb4 {me},
        TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
    ON DUPLICATE KEY UPDATE
       hf_token = IF(lock_until <= {now},
                     GREATEST(hf_token + 1, VALUES(hf_token)),
                     hf_token),
       locked_at = IF(lock_until <= {now}, VALUES(locked_at), locked_at),
       locked_by = IF(lock_until <= {now}, VALUES(locked_by), locked_by),
       lock_until = IF(lock_until <= {now} OR locked_by = VALUES(locked_by),
                       VALUES(lock_until), lock_until);
SELECT locked_by = _utf8mb4 {me}, hf_token,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lock_until)
  FROM {t} WHERE name = _utf8mb4 {name}

-- name: renew
-- Rows that stay as they are, within a millisecond, do not count as written:
-- hence the second statement.
UPDATE {t} SET lock_until =
       TIMESTAMPADD(MICROSECOND, {lease} + 999, UTC_TIMESTAMP(6))
 WHERE name = _utf8mb4 {name} AND locked_by = _utf8mb4 {me}
   AND lock_until > {now};
SELECT locked_by = _utf8mb4 {me} AND lock_until > {now}
  FROM {t} WHERE name = _utf8mb4 {name}

-- name: free
UPDATE {t} SET lock_until = {now}
 WHERE name = _utf8mb4 {name} AND locked_by = _utf8mb4 {me}
   AND lock_until > {now}

-- name: keep
UPDATE {t} SET lock_until = IF(locked_by = _utf8mb4 {me},
       TIMESTAMPADD(MICROSECOND, {lease} + 999, UTC_TIMESTAMP(6)), lock_until),
       locked_by = CONCAT(_utf8mb4 {me}, ':done')
 WHERE name = _utf8mb4 {name} AND lock_until > {now}
   AND locked_by IN (_utf8mb4 {me}, CONCAT(_utf8mb4 {me}, ':done'))

-- name: force
UPDATE {t} SET hf_token = GREATEST(hf_token + 1,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
       locked_by = CONCAT('hf:freed:', LEFT(locked_by, 240)),
       lock_until = {now}
 WHERE name = _utf8mb4 {name} AND lock_until > {now}
   AND ({whose} = '' OR locked_by = _utf8mb4 {whose}
        OR locked_by LIKE 'hf:%'
           AND RIGHT(locked_by, CHAR_LENGTH(_utf8mb4 {whose}) + 1)
               = CONCAT(':', _utf8mb4 {whose}))

-- name: token
SELECT hf_token FROM {t} WHERE name = _utf8mb4 {name}

-- name: list
SELECT HEX(CONVERT(name USING utf8mb4)), HEX(CONVERT(locked_by USING utf8mb4)),
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lock_until),
       TIMESTAMPDIFF(MICROSECOND, locked_at, UTC_TIMESTAMP(6)), hf_token
  FROM {t} WHERE lock_until > {now} ORDER BY name

-- name: list_one
SELECT HEX(CONVERT(name USING utf8mb4)), HEX(CONVERT(locked_by USING utf8mb4)),
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lock_until),
       TIMESTAMPDIFF(MICROSECOND, locked_at, UTC_TIMESTAMP(6)), hf_token
  FROM {t} WHERE lock_until > {now} AND name = _utf8mb4 {name}
