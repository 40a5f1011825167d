--! part
-- rw_mode.lua - `mode` of a read/write lock, KEYS 1: 'read', 'write', or
-- false: free.  A hash without it is another kind of lock.
local mode = redis.call('hget', KEYS[1], 'mode')
if not mode and redis.call('exists', KEYS[1]) == 1 then
    return redis.error_reply('WRONGTYPE not a read/write lock')
end
