-- lock_attempt.lua - take the plain lock, or say when to ask again.
--   KEYS   1 the lock: hash, owner -> holds   2 the token: counter
--   ARGV   1 lease in ms   2 owner   3 floor of the token, or ''
--   gives  {token, 0}: held, by this call or an earlier one;
--          {0, ms until it may be free}; -1 ms: nobody set an end
-- An owner who already holds keeps its token and is not counted twice: the
-- question may be a repeat.  The token grows first: if that is refused,
-- nothing has happened.
--! include token.lua
local left = redis.call('pttl', KEYS[1])
if left == -2 then
    local token = grow_token(KEYS[2], ARGV[3])
    redis.call('hset', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return {token, 0}
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
    return {0, left}
end
redis.call('pexpire', KEYS[1], ARGV[1])
return {tonumber(redis.call('get', KEYS[2]) or 0), 0}
