-- write_attempt.lua - take the write side, or say when to ask again.
--   KEYS   1 the lock: hash, mode -> read or write, owner -> holds
--          2 the token: counter
--          3 writers who go first: zset, owner -> end in ms of the clock
--   ARGV   1 lease in ms   2 owner   3 floor of the token, or ''
--          4 '1': it waits   5 '1': it goes first
--          6 what the keys of holds begin with
--   gives  as read_attempt.lua
-- Readers who are gone are swept out when they would be in the way.
local token, prefix = nil, ARGV[6]
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    --! include held.lua
end
--! include rw_mode.lua
if mode == 'read' then
    --! include sweep.lua
end
if not mode then
    --! include token.lua
    redis.call('hset', KEYS[1], 'mode', 'write', ARGV[2], '1')
    redis.call('pexpire', KEYS[1], ARGV[1])
    redis.call('zrem', KEYS[3], ARGV[2])
    return token
end
if ARGV[4] == '1' and ARGV[5] == '1' then
    --! include now.lua
    redis.call('zremrangebyscore', KEYS[3], '-inf', now)
    redis.pcall('zadd', KEYS[3], now + 10000, ARGV[2])
    redis.call('pexpire', KEYS[3], 60000)
end
return redis.call('pttl', KEYS[1])
