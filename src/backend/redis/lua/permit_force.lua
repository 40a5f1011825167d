-- permit_force.lua - take one leased permit back, or all of them.
--   KEYS   1 the semaphore: counter   2 the token: counter
--          3 leased permits: zset, id -> end
--   ARGV   1 its id, 32 hex digits; '' for all   2 channel
--          3 floor of the token, or ''
--   gives  1: taken back   0: there was no such permit
local first, n, token = ARGV[1], 1, nil
--! include number.lua
if first == '' then
    n = redis.call('zcard', KEYS[3])
elseif #first ~= 32 or not string.match(first, '^%x+$') then
    return 0
else
    --! include unhex.lua
    n = redis.call('zscore', KEYS[3], first) and 1 or 0
end
if n == 0 then
    return 0
end
--! include token.lua
count = redis.call('incrby', KEYS[1], n)
if first == '' then
    redis.call('del', KEYS[3])
else
    redis.call('zrem', KEYS[3], first)
end
if count > 0 then
    redis.pcall('publish', ARGV[2], count)
end
return 1
