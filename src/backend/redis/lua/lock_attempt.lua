-- lock_attempt.lua - take the plain lock, or say when to ask again.
--   KEYS   1 the lock: hash, owner -> holds   2 the token: counter
--   ARGV   1 lease in ms   2 owner   3 floor of the token, or ''
--          4 how many tokens
--   gives  the first of the tokens, a text: held by this call; or
--          the last of them, a status: held by an earlier one; or
--          a number: ms until it may be free, -1 if nobody set an end
-- An owner who already holds keeps its token and is not counted twice: the
-- question may be a repeat.  The token grows first: if that is refused,
-- nothing has happened.  Of a block of tokens the counter keeps the last.
local token
if redis.call('exists', KEYS[1]) == 1 then
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
        return redis.call('pttl', KEYS[1])
    end
    --! include held.lua
end
--! include token.lua
if ARGV[4] ~= '1' then
    redis.call('set', KEYS[2], string.format('%.0f', token + ARGV[4] - 1))
end
redis.call('hset', KEYS[1], ARGV[2], '1')
redis.call('pexpire', KEYS[1], ARGV[1])
return token
