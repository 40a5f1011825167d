-- count_delete.lua - delete a semaphore or a latch, and wake who waits.
--   KEYS   1 the counter   2 the marker of this request
--          3 a semaphore: its leased permits; a latch: the counter again
--          4… markers to be deleted
--   ARGV   1 anything   2 channel   5 see note.lua
--   gives  0: there is none now; nil: there was none
-- Redisson publishes 1 for a latch, and who waits sleeps on; 0 opens it.
--! include spent.lua
--! include marker.lua
if before then
    return tonumber(before)
end
--! include number.lua
if redis.call('del', KEYS[1], KEYS[3]) == 0 then
    return false
end
redis.pcall('del', ARGV[5])
redis.call('set', KEYS[2], '0', 'PX', 60000)
redis.pcall('publish', ARGV[2], '0')
return 0
