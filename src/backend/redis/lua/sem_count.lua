-- sem_count.lua - how many permits are free, or leased.
--   KEYS   1 the semaphore: counter   2 anything
--          3 leased permits: zset, id -> end
--   ARGV   1 anything   2 channel   3 'free' or 'leased'
--   gives  the number
--! include number.lua
--! include now.lua
--! include reap.lua
if reaped > 0 and count > 0 then
    redis.pcall('publish', ARGV[2], count)
end
if ARGV[3] == 'leased' then
    return redis.call('zcard', KEYS[3])
end
return count or 0
