-- redlock_simple_attempt.lua - one server's vote for the simple lock: SET name
-- value NX PX, as the clients of Redlock have it.
--   KEYS   1 the lock: string   2 the token: counter
--   ARGV   1 lease in ms   2 value   3 token that the client proposes
--          4 how many tokens
--   gives  as redlock_attempt.lua
local holder, token = redis.call('get', KEYS[1]), nil
if holder then
    if holder ~= ARGV[2] then
        return {redis.call('pttl', KEYS[1]), holder}
    end
    token = redis.call('get', KEYS[2])
end
if token then
    redis.call('pexpire', KEYS[1], ARGV[1])
    return {ok = token}
end
--! include redlock_token.lua
redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[1])
return token
