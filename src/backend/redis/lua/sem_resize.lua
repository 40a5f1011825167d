-- sem_resize.lua - free and leased permits together shall be so many.
--   KEYS   as sem_attempt.lua
--   ARGV   1 how many   2 channel   5, 6 see note.lua
--   gives  how many are free now, less than none if more are leased
--! include spent.lua
--! include marker.lua
if before then
    return tonumber(before)
end
--! include number.lua
if not count then
    --! include note.lua
end
--! include now.lua
--! include reap.lua
local more = ARGV[1] - redis.call('zcard', KEYS[3]) - (count or 0)
count = redis.call('incrby', KEYS[1], more)
redis.call('set', KEYS[2], count, 'PX', 60000)
if count > 0 and (more > 0 or reaped > 0) then
    redis.pcall('publish', ARGV[2], count)
end
return count
