-- permit_release.lua - give leased permits back and wake who waits for them.
--   KEYS   1 the semaphore: counter   2 leased permits: zset, id -> end
--   ARGV   1 id of the first, 16 bytes   2 channel   3 how many
--   gives  1: given back   0: some had ended before, or been taken away
-- What ended and was not reaped yet returns to the others all the same.  ZREM
-- comes first: it needs no memory, and after it a full server lets INCRBY pass.
local first, n, found, alive = ARGV[1], tonumber(ARGV[3]), 0, 0
--! include ids.lua
--! include now.lua
for i = 1, n do
    local ends = redis.call('zscore', KEYS[2], ids[i])
    if ends then
        found = found + 1
        alive = alive + (tonumber(ends) > now and 1 or 0)
    end
end
if found == 0 then
    return 0
end
for i = 1, n do
    redis.call('zrem', KEYS[2], ids[i])
end
local count = redis.call('incrby', KEYS[1], found)
if count > 0 then
    redis.pcall('publish', ARGV[2], count)
end
return alive == n and 1 or 0
