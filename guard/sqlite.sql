-- A guard for SQLite: what is written under a lock refuses a holder whose token
-- is older than one it has seen.  Install it once; it may be run again.
--
--     BEGIN IMMEDIATE;
--     INSERT INTO hf_guard VALUES ('orders', 1763251200000000)   -- the token
--         ON CONFLICT (resource) DO UPDATE SET token = excluded.token;
--     UPDATE orders SET …;                                       -- what you want
--     COMMIT;
--
-- In the same transaction, and first.  An older token is an error,
-- SQLITE_CONSTRAINT_TRIGGER: roll back.  An equal one passes, since it is the
-- same holder that goes on.  Without IMMEDIATE a transaction that has read
-- before may get SQLITE_BUSY here: roll back and try again.
--
-- To have every write to a table checked, whoever makes it, let the row say
-- with which token it was written:
--
--     ALTER TABLE orders ADD COLUMN token INTEGER;
--     CREATE TRIGGER guarded BEFORE UPDATE ON orders BEGIN
--         INSERT INTO hf_guard VALUES ('orders', NEW.token)
--             ON CONFLICT (resource) DO UPDATE SET token = excluded.token;
--     END;

-- The highest token that each resource has seen.
CREATE TABLE IF NOT EXISTS hf_guard (
    resource TEXT NOT NULL PRIMARY KEY,
    token INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token > 0)
) WITHOUT ROWID;

-- It never becomes lower, whoever tries.
CREATE TRIGGER IF NOT EXISTS hf_guard_older BEFORE UPDATE ON hf_guard
WHEN NEW.token < OLD.token BEGIN
    SELECT raise(ABORT, 'holdfast: the token is older than one seen before');
END;
