-- latch_down.lua - count a latch down, once; at zero it opens and is gone.
--   KEYS   as count_delete.lua
--   ARGV   1 anything   2 channel   5 see note.lua
--   gives  how many are left
--! include spent.lua
--! include marker.lua
if before then
    return tonumber(before)
end
--! include number.lua
if not count then
    return 0
end
if count > 1 then
    count = redis.call('decr', KEYS[1])
    redis.call('set', KEYS[2], count, 'PX', 60000)
    return count
end
redis.call('del', KEYS[1])
redis.pcall('del', ARGV[5])
redis.call('set', KEYS[2], '0', 'PX', 60000)
redis.pcall('publish', ARGV[2], '0')
return 0
