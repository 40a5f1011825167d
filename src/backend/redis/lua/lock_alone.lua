-- lock_alone.lua - take the plain lock by its one key, or say when to ask
-- again.
--   KEYS   1 the lock: hash, owner -> holds
--   ARGV   1 lease in ms   2 owner   3 the last token that its client knows of
--   gives  a token, a text: held, by this call or an earlier one; or a number:
--          ms until it may be free, -1 if nobody set an end
-- While the slot of the name is half moved to another server, a script that
-- needs two keys is refused whenever one of them is not there, and the key of
-- a free lock never is.  This one goes wherever its key is.  Nobody hears of
-- the grant before token_raise.lua has brought the token's key up to it.
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 and
   redis.call('exists', KEYS[1]) == 1 then
    return redis.call('pttl', KEYS[1])
end
--! include token_alone.lua
redis.call('hset', KEYS[1], ARGV[2], '1')
redis.call('pexpire', KEYS[1], ARGV[1])
return token
