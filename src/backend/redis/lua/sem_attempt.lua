-- sem_attempt.lua - take permits of a semaphore, once, or say when to ask
-- again.
--   KEYS   1 the semaphore: counter   2 the marker of this request
--          3 leased permits: zset, id -> end   4… markers to be deleted
--   ARGV   1 how many   2 channel
--          3 '1': it was granted before, even if its marker is gone
--   gives  a text: taken, by this call or an earlier one; or
--          a number: ms until a leased permit ends, or many
-- Leases are looked at only when there are too few: who leased them may be
-- dead, and with nobody else asking they would never return.
--! include number.lua
local want = tonumber(ARGV[1])
if (count or 0) < want or ARGV[3] == '1' then
    --! include marker.lua
    if before or ARGV[3] == '1' then
        return before ~= 'undone' and '1' or 3600000
    end
    --! include now.lua
    --! include reap.lua
    local enough = (count or 0) >= want
    local rest = enough and count - want or count
    if reaped > 0 and rest > 0 then
        redis.pcall('publish', ARGV[2], rest)
    end
    if not enough then
        --! include spent.lua
        --! include next_end.lua
        return left
    end
end
if not redis.call('set', KEYS[2], '1', 'NX', 'PX', 60000) then
    return redis.call('get', KEYS[2]) ~= 'undone' and '1' or 3600000
end
if want > 0 then
    redis.call('decrby', KEYS[1], want)
end
--! include spent.lua
return '1'
