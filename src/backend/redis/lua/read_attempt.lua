-- read_attempt.lua - take the read side, or say when to ask again.
--   KEYS   1 the lock: hash, mode -> read or write, owner -> holds
--          2 the token: counter   3 the hold: lives as long as its lease
--          4 writers who go first: zset, owner -> end in ms of the clock
--   ARGV   1 lease in ms   2 owner   3 floor of the token, or ''
--          4 the writer beside whom it may read, or ''
--          5 '1': not while a writer waits
--   gives  the token, a text: held by this call; or a status: by an earlier
--          one; or a number: ms until it may be free, -1 if nobody set an end
-- A repeat is told the last token: readers may share one, for none of them
-- keeps another out.
local token
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('set', KEYS[3], '1', 'PX', ARGV[1])
    --! include held.lua
end
--! include rw_mode.lua
local beside = ARGV[4] ~= '' and redis.call('hexists', KEYS[1], ARGV[4]) == 1
if mode == 'write' and not beside then
    return redis.call('pttl', KEYS[1])
end
if ARGV[5] == '1' and not beside then
    local last = redis.call('zrevrange', KEYS[4], 0, 0, 'WITHSCORES')[2]
    if last then
        --! include now.lua
        if tonumber(last) > now then
            return tonumber(last) - now
        end
    end
end
--! include token.lua
if mode then
    redis.call('hset', KEYS[1], ARGV[2], '1')
else
    redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], '1')
end
redis.call('set', KEYS[3], '1', 'PX', ARGV[1])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[1]) then
    redis.call('pexpire', KEYS[1], ARGV[1])
end
return token
