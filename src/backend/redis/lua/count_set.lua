-- count_set.lua - set the number of a semaphore or a latch, if nobody has.
--   KEYS   1 the counter   2 the marker of this request   3 anything
--          4… markers to be deleted
--   ARGV   1 the number   2 channel   3 what to publish, '' for nothing
--          4 time to live in ms, 0 for ever   5, 6 see note.lua
--   gives  the number; nil: it was set
--! include marker.lua
if before then
    return tonumber(before)
end
--! include number.lua
if count then
    --! include spent.lua
    --! include note.lua
    return false
end
redis.call('set', KEYS[1], ARGV[1])
if ARGV[4] ~= '0' then
    redis.call('pexpire', KEYS[1], ARGV[4])
end
redis.call('set', KEYS[2], ARGV[1], 'PX', 60000)
--! include spent.lua
--! include note.lua
if ARGV[3] ~= '' then
    redis.pcall('publish', ARGV[2], ARGV[3])
end
return tonumber(ARGV[1])
