-- lock_after.lua - leave the plain lock, but keep others out for a while.
--   KEYS   1 the lock
--   ARGV   1 owner   2 how long, in ms   3 who stands there instead
--          4 channel
--   gives  1: left   0: the owner did not hold it
-- Who waits is woken to learn the new end: nothing tells of it when it comes.
--! include stand_in.lua
redis.call('pexpire', KEYS[1], ARGV[2])
redis.pcall('publish', ARGV[4], '0')
return 1
