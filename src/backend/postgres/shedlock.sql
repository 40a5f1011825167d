-- shedlock.sql - ShedLock's table, on PostgreSQL.
--
-- What a statement is for is in ../tables/shedlock.h.  The columns have no time
-- zone and mean UTC.  The clock is read when a statement runs: ShedLock reads
-- when its transaction began, which is the same as long as that is short.

-- name: now
timezone('utc', clock_timestamp())

-- name: first

-- name: find
SELECT (count(*) > 0)::int,
       (count(*) FILTER (WHERE attname = 'lock_until'
                           AND atttypid = 'timestamp'::regtype))::int,
       (count(*) FILTER (WHERE attname = 'hf_token'))::int, 1
  FROM pg_attribute
 WHERE attrelid = to_regclass(CASE WHEN {schema} = '' THEN ''
                              ELSE convert_from({schema}, 'UTF8') || '.' END
                              || convert_from({table}, 'UTF8'))
   AND attnum > 0 AND NOT attisdropped

-- name: make
CREATE TABLE IF NOT EXISTS {t} (
    name       varchar(64)  NOT NULL,
    lock_until timestamp    NOT NULL,
    locked_at  timestamp    NOT NULL,
    locked_by  varchar(255) NOT NULL,
    hf_token   bigint       NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
)

-- name: extend
ALTER TABLE {t} ADD COLUMN IF NOT EXISTS hf_token bigint NOT NULL DEFAULT 0

-- name: take
-- What is not free in the first place is only read: that writes nothing.  Under
-- the row's lock all is looked at again, with the clock as it is then; and the
-- last statement sees what the first one did, or whoever was quicker.
INSERT INTO {t} AS s (name, lock_until, locked_at, locked_by, hf_token)
SELECT convert_from({name}, 'UTF8'), n.t + {lease} * interval '1 us', n.t,
       convert_from({me}, 'UTF8'),
       (extract(epoch FROM n.t) * 1000000)::bigint
  FROM (SELECT {now} AS t) n
 WHERE NOT EXISTS (SELECT 1 FROM {t} x
                    WHERE x.name = convert_from({name}, 'UTF8')
                      AND x.lock_until > n.t
                      AND x.locked_by <> convert_from({me}, 'UTF8'))
    ON CONFLICT (name) DO UPDATE
   SET hf_token = CASE WHEN s.locked_by = convert_from({me}, 'UTF8')
                            AND s.lock_until > {now}
                       THEN s.hf_token
                       ELSE greatest(s.hf_token + 1,
                                     (extract(epoch FROM {now})
                                      * 1000000)::bigint) END,
       locked_at = CASE WHEN s.locked_by = convert_from({me}, 'UTF8')
                             AND s.lock_until > {now}
                        THEN s.locked_at ELSE {now} END,
       lock_until = {now} + {lease} * interval '1 us',
       locked_by = convert_from({me}, 'UTF8')
 WHERE s.lock_until <= {now} OR s.locked_by = convert_from({me}, 'UTF8');
SELECT (locked_by = convert_from({me}, 'UTF8'))::int, hf_token,
       (extract(epoch FROM lock_until - {now}) * 1000000)::bigint
  FROM {t} WHERE name = convert_from({name}, 'UTF8')

-- name: renew
UPDATE {t} SET lock_until = {now} + {lease} * interval '1 us'
 WHERE name = convert_from({name}, 'UTF8')
   AND locked_by = convert_from({me}, 'UTF8') AND lock_until > {now};
SELECT (locked_by = convert_from({me}, 'UTF8') AND lock_until > {now})::int
  FROM {t} WHERE name = convert_from({name}, 'UTF8')

-- name: free
-- A release that a crash of the server takes back costs others a lease at
-- most, so nobody waits for the disk.
UPDATE {t} SET lock_until = {now}
  FROM (SELECT set_config('synchronous_commit', 'off', true)) hurry
 WHERE name = convert_from({name}, 'UTF8')
   AND locked_by = convert_from({me}, 'UTF8') AND lock_until > {now}

-- name: keep
UPDATE {t} SET lock_until = CASE WHEN locked_by = convert_from({me}, 'UTF8')
                                 THEN {now} + {lease} * interval '1 us'
                                 ELSE lock_until END,
               locked_by = convert_from({me}, 'UTF8') || ':done'
 WHERE name = convert_from({name}, 'UTF8') AND lock_until > {now}
   AND locked_by IN (convert_from({me}, 'UTF8'),
                     convert_from({me}, 'UTF8') || ':done')

-- name: force
UPDATE {t} SET lock_until = {now},
               locked_by = 'hf:freed:' || left(locked_by, 240),
               hf_token = greatest(hf_token + 1, (extract(epoch FROM {now})
                                                  * 1000000)::bigint)
 WHERE name = convert_from({name}, 'UTF8') AND lock_until > {now}
   AND ({whose} = '' OR locked_by = convert_from({whose}, 'UTF8')
        OR locked_by LIKE 'hf:%'
           AND right(locked_by, octet_length({whose}) + 1)
               = ':' || convert_from({whose}, 'UTF8'))

-- name: token
SELECT hf_token FROM {t} WHERE name = convert_from({name}, 'UTF8')

-- name: list
SELECT encode(convert_to(name, 'UTF8'), 'hex'),
       encode(convert_to(locked_by, 'UTF8'), 'hex'),
       (extract(epoch FROM lock_until - {now}) * 1000000)::bigint,
       (extract(epoch FROM {now} - locked_at) * 1000000)::bigint, hf_token
  FROM {t} WHERE lock_until > {now} ORDER BY name

-- name: list_one
SELECT encode(convert_to(name, 'UTF8'), 'hex'),
       encode(convert_to(locked_by, 'UTF8'), 'hex'),
       (extract(epoch FROM lock_until - {now}) * 1000000)::bigint,
       (extract(epoch FROM {now} - locked_at) * 1000000)::bigint, hf_token
  FROM {t} WHERE lock_until > {now} AND name = convert_from({name}, 'UTF8')
