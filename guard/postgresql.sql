-- A guard for PostgreSQL: what is written under a lock refuses a holder whose
-- token is older than one it has seen.  Install it once, as the owner of the
-- tables it shall protect; it may be run again.
--
--     BEGIN;
--     SELECT hf_guard_pass('orders', 1763251200000000);   -- the lock's token
--     UPDATE orders SET …;                                -- what you want
--     COMMIT;
--
-- In the same transaction, and first.  An older token is an error, SQLSTATE
-- HF001, and the transaction can only roll back; an equal one passes, since it
-- is the same holder that goes on.  From the pass to the end of the
-- transaction nobody else passes, so whoever comes later writes later.  Under
-- REPEATABLE READ and SERIALIZABLE a pass that had to wait may also fail with
-- 40001: try again.
--
-- A transaction that is never ended keeps newer holders waiting.  Say how long
-- it may idle: SET LOCAL idle_in_transaction_session_timeout = '30s'.
--
-- As one statement, without the functions; no rows mean that it was refused:
--
--     WITH pass AS (
--         INSERT INTO hf_guard AS g VALUES ('orders', 1763251200000000)
--         ON CONFLICT (resource) DO UPDATE SET token = excluded.token
--             WHERE g.token <= excluded.token
--         RETURNING token)
--     UPDATE orders SET … FROM pass WHERE …;
--
-- To have every write to a table checked, whoever makes it:
--
--     CREATE TRIGGER guarded BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE
--         ON orders FOR EACH STATEMENT EXECUTE FUNCTION hf_guard_check('orders');
--
-- after which a transaction begins with SET LOCAL holdfast.token = '1763…', and
-- one without it may not write.

-- The highest token that each resource has seen.
CREATE TABLE IF NOT EXISTS hf_guard (
    resource text PRIMARY KEY,
    token bigint NOT NULL CHECK (token > 0)
);

-- Takes the token down, or fails.  The row is locked first and compared then,
-- also when it is left as it is.
CREATE OR REPLACE FUNCTION hf_guard_pass(resource text, token bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    seen bigint;
BEGIN
    IF $1 IS NULL OR $2 IS NULL OR $2 <= 0 THEN
        RAISE EXCEPTION 'holdfast: no token for ''%''', $1
            USING ERRCODE = 'HF001';
    END IF;
    INSERT INTO hf_guard AS g VALUES ($1, $2)
        ON CONFLICT ON CONSTRAINT hf_guard_pkey DO UPDATE
        SET token = excluded.token WHERE g.token < excluded.token;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT g.token INTO seen FROM hf_guard AS g WHERE g.resource = $1;
    IF seen IS DISTINCT FROM $2 THEN
        RAISE EXCEPTION 'holdfast: token % for ''%'' is older than %',
            $2, $1, seen USING ERRCODE = 'HF001';
    END IF;
END
$$;

-- For a table's trigger; its argument is the resource.
CREATE OR REPLACE FUNCTION hf_guard_check()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hf_guard_pass(TG_ARGV[0],
        nullif(current_setting('holdfast.token', true), '')::bigint);
    RETURN NULL;
END
$$;
