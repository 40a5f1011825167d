-- fair_after.lua - leave the fair lock, but keep others out for a while.
--   KEYS   1 the lock   2 the queue
--   ARGV   1 owner   2 how long, in ms   3 who stands there instead
--          4 channel
--   gives  1: left   0: the owner did not hold it
-- As lock_after.lua; the first in line asks when that while is over.
--! include stand_in.lua
redis.call('pexpire', KEYS[1], ARGV[2])
local first = redis.call('lindex', KEYS[2], 0)
redis.pcall('publish', first and ARGV[4] .. ':' .. first or ARGV[4], '0')
return 1
