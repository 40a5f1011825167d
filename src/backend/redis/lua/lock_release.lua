-- lock_release.lua - give the plain lock back and wake who waits for it.
--   KEYS   1 the lock
--   ARGV   1 owner   2 channel
--   gives  0: the owner did not hold it; otherwise it is free now, and the
--          number is how many heard of it, and 1
-- HDEL and PUBLISH pass when the server is out of memory, and a hash without
-- fields is gone.  The channel is no key, and a user who may not publish may
-- still release.
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    return 0
end
local heard = redis.pcall('publish', ARGV[2], '0')
return type(heard) == 'number' and heard + 1 or 1
