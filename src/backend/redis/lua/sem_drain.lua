-- sem_drain.lua - take all permits that are free, once.
--   KEYS   as sem_attempt.lua
--   gives  how many were taken
--! include spent.lua
--! include marker.lua
if before then
    return tonumber(before)
end
--! include number.lua
--! include now.lua
--! include reap.lua
if not count or count <= 0 then
    return 0
end
redis.call('decrby', KEYS[1], count)
redis.call('set', KEYS[2], count, 'PX', 60000)
return count
