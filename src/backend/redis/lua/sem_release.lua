-- sem_release.lua - undo an attempt: give back what it took.
--   KEYS   as sem_attempt.lua
--   ARGV   1 how many   2 channel
--          3 '1': it was granted, even if its marker is gone
--   gives  1: given back   0: there was nothing to give back
-- What was undone stays so: the attempt may still be on its way, and must find
-- that it comes too late.  A semaphore that was deleted meanwhile gets nothing.
--! include spent.lua
--! include marker.lua
if before == 'undone' then
    return 0
end
--! include number.lua
local taken = before or ARGV[3] == '1'
if taken and count then
    count = redis.call('incrby', KEYS[1], ARGV[1])
end
redis.call('set', KEYS[2], 'undone', 'PX', 60000)
if taken and count and count > 0 then
    redis.pcall('publish', ARGV[2], count)
end
return taken and 1 or 0
