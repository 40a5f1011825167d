-- simple_attempt.lua - SET name value NX PX, as small clients do it.
--   KEYS   1 the lock: string   2 the token: counter
--   ARGV   1 lease in ms   2 value   3 floor of the token, or ''
--   gives  as lock_attempt.lua
local holder, token = redis.call('get', KEYS[1]), nil
if holder then
    if holder ~= ARGV[2] then
        return redis.call('pttl', KEYS[1])
    end
    token = redis.call('get', KEYS[2])
end
if not token then
    --! include token.lua
end
if holder then
    redis.call('pexpire', KEYS[1], ARGV[1])
else
    redis.call('set', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1])
end
return token
