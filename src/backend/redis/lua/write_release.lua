-- write_release.lua - leave the write side, or stop waiting for it.
--   KEYS   1 the lock   2 writers who go first
--   ARGV   1 owner   2 channel
--   gives  1: it is out   0: it neither held nor stood among the first
-- Who reads beside the writer goes on: a downgrade, and all who wait to read
-- are woken.  They are also woken by a writer who no longer waits.
local stood = redis.call('zrem', KEYS[2], ARGV[1])
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    if stood == 1 and redis.call('hget', KEYS[1], 'mode') ~= 'write' then
        --! include tell_readers.lua
    end
    return stood
end
--! include downgrade.lua
return 1
