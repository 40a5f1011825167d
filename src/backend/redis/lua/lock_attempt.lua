-- lock_attempt.lua - take the plain lock, or say when to ask again.
--   KEYS   1 the lock: hash, owner -> holds   2 the token: counter
--   ARGV   1 lease in ms   2 owner   3 floor of the token, or ''
--   gives  the token, a text: held, by this call or an earlier one; or
--          a number: ms until it may be free, -1 if nobody set an end
-- An owner who already holds keeps its token and is not counted twice: the
-- question may be a repeat.  The token grows first: if that is refused,
-- nothing has happened.
local held, token = redis.call('exists', KEYS[1]) == 1, nil
if held then
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
        return redis.call('pttl', KEYS[1])
    end
    token = redis.call('get', KEYS[2])
end
if not token then
    --! include token.lua
end
if not held then
    redis.call('hset', KEYS[1], ARGV[2], '1')
end
redis.call('pexpire', KEYS[1], ARGV[1])
return token
