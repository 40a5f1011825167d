-- redlock_attempt.lua - one server's vote for the plain lock.
--   KEYS   1 the lock: hash, owner -> holds   2 the token: counter
--   ARGV   1 lease in ms   2 owner   3 token that the client proposes
--          4 how many tokens
--   gives  the last of the tokens, a text: granted by this call; or
--          the same as a status: by an earlier one; or
--          {ms until it may be free, -1 if nobody set an end; who holds}: denied
local token
if redis.call('exists', KEYS[1]) == 1 then
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
        return {redis.call('pttl', KEYS[1]), redis.call('hkeys', KEYS[1])[1]}
    end
    token = redis.call('get', KEYS[2])
end
if token then
    redis.call('pexpire', KEYS[1], ARGV[1])
    return {ok = token}
end
--! include redlock_token.lua
redis.call('hset', KEYS[1], ARGV[2], '1')
redis.call('pexpire', KEYS[1], ARGV[1])
return token
