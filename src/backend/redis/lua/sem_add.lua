-- sem_add.lua - change the number of permits by so many, once.
--   KEYS   as sem_attempt.lua
--   ARGV   1 how many more   2 channel   3 '1': only if it is set
--          5, 6 see note.lua
--   gives  how many are free now; nil: it is not set
-- INCRBY leaves the time to live as it is.  Redisson publishes the number even
-- if it is negative, at which its own listeners throw; we do not.
--! include spent.lua
--! include number.lua
local free = (count or 0) + ARGV[1]
if not count and ARGV[3] == '1' then
    --! include marker.lua
    return before and tonumber(before)
end
if math.abs(free) > 9007199254740991 then
    return redis.error_reply('ERR the number would be too large')
end
if not redis.call('set', KEYS[2], free, 'NX', 'PX', 60000) then
    return tonumber(redis.call('get', KEYS[2]))
end
redis.call('incrby', KEYS[1], ARGV[1])
if not count then
    --! include note.lua
end
if free > 0 and tonumber(ARGV[1]) > 0 then
    redis.pcall('publish', ARGV[2], free)
end
return free
