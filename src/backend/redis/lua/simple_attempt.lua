-- simple_attempt.lua - SET name value NX PX, as small clients do it.
--   KEYS   1 the lock: string   2 the token: counter
--   ARGV   1 lease in ms   2 value   3 floor of the token, or ''
--   gives  as lock_attempt.lua
--! include token.lua
local holder = redis.call('get', KEYS[1])
if not holder then
    local token = grow_token(KEYS[2], ARGV[3])
    redis.call('set', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1])
    return {token, 0}
end
if holder ~= ARGV[2] then
    return {0, redis.call('pttl', KEYS[1])}
end
redis.call('pexpire', KEYS[1], ARGV[1])
return {tonumber(redis.call('get', KEYS[2]) or 0), 0}
