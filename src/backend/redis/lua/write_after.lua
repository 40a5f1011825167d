-- write_after.lua - leave the write side, but keep others out for a while.
--   KEYS   1 the lock
--   ARGV   1 owner   2 how long, in ms   3 who stands there instead
--          4 channel
--   gives  1: left   0: the owner did not hold it
-- As lock_after.lua.  Who reads beside the writer keeps its lease.
--! include stand_in.lua
if redis.call('hlen', KEYS[1]) == 2 or
   redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
redis.pcall('publish', ARGV[4], '1')
return 1
