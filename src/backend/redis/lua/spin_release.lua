-- spin_release.lua - give the plain lock back and tell nobody.
--   KEYS   1 the lock
--   ARGV   1 owner
--   gives  1: free now   0: the owner did not hold it
return redis.call('hdel', KEYS[1], ARGV[1])
