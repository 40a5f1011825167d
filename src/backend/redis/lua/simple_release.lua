-- simple_release.lua - compare and delete.
--   KEYS   1 the lock
--   ARGV   1 value   2 channel, where our own clients listen
--   gives  1: free now   0: another value, or none
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[2], '0')
return 1
