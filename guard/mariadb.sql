-- A guard for MariaDB and MySQL (InnoDB): what is written under a lock refuses
-- a holder whose token is older than one it has seen.  Install it once, with
-- the command-line client, which knows DELIMITER; it may be run again.
--
--     START TRANSACTION;
--     CALL hf_guard_pass('orders', 1763251200000000);   -- the lock's token
--     UPDATE orders SET …;                              -- what you want
--     COMMIT;
--
-- In the same transaction, and first.  An older token is an error, SQLSTATE
-- HF001: roll back.  An equal one passes, since it is the same holder that goes
-- on.  From the pass to the end of the transaction nobody else passes, so
-- whoever comes later writes later; this holds under every isolation level.
-- Error 1213 (a deadlock) or 1020 (the row has changed): try again.
--
-- A transaction that is never ended keeps newer holders waiting, until
-- innodb_lock_wait_timeout.  Say how long it may idle, in MariaDB:
-- SET SESSION idle_write_transaction_timeout = 30.
--
-- To have every write to a table checked, whoever makes it:
--
--     CREATE TRIGGER guarded_update BEFORE UPDATE ON orders
--         FOR EACH ROW CALL hf_guard_pass('orders', @holdfast_token);
--
-- and so for INSERT and DELETE; then SET @holdfast_token = 1763… comes before a
-- write, and NULL may not write.

-- The highest token that each resource has seen.
CREATE TABLE IF NOT EXISTS hf_guard (
    resource VARBINARY(255) NOT NULL PRIMARY KEY,
    token BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB;

DROP PROCEDURE IF EXISTS hf_guard_pass;

DELIMITER //

-- Takes the token down, or fails.  The row is locked first and compared then,
-- also when it is left as it is.
CREATE PROCEDURE hf_guard_pass(IN new_resource VARBINARY(255),
                               IN new_token BIGINT UNSIGNED)
BEGIN
    DECLARE seen BIGINT UNSIGNED;
    DECLARE refusal VARCHAR(128);
    IF new_resource IS NULL OR coalesce(new_token, 0) = 0 THEN
        SIGNAL SQLSTATE 'HF001' SET MESSAGE_TEXT = 'holdfast: no token';
    END IF;
    INSERT INTO hf_guard (resource, token) VALUES (new_resource, new_token)
        ON DUPLICATE KEY UPDATE token = greatest(token, new_token);
    SELECT token INTO seen FROM hf_guard WHERE resource = new_resource
        FOR UPDATE;
    IF seen > new_token THEN
        SET refusal = concat('holdfast: token ', new_token, ' is older than ',
                             seen);
        SIGNAL SQLSTATE 'HF001' SET MESSAGE_TEXT = refusal;
    END IF;
END//

DELIMITER ;
