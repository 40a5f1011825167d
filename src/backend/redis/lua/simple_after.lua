-- simple_after.lua - leave the simple lock, but keep others out for a while.
--   KEYS   1 the lock
--   ARGV   1 value   2 how long, in ms   3 what stands there instead
--          4 channel
--   gives  1: left   0: another value, or none
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
if redis.pcall('set', KEYS[1], ARGV[3], 'PX', ARGV[2]).err then
    redis.call('pexpire', KEYS[1], ARGV[2])
end
redis.pcall('publish', ARGV[4], '0')
return 1
