-- permit_renew.lua - set the leases of many claims on permits anew.
--   KEYS   for each claim: the leased permits of its semaphore
--   ARGV   for each claim: lease in ms, id of the first in hex, how many
--   gives  for each claim: 1 renewed, 0 some of its permits are gone
-- pcall: one name that became something else must not stop the others.  The
-- empty range removes nothing; it is a write that needs no memory, and after
-- one a full server lets ZADD pass.
--! include now.lua
local kept = {}
for k, key in ipairs(KEYS) do
    local first, n, alive = ARGV[3 * k - 1], tonumber(ARGV[3 * k]), 0
    --! include unhex.lua
    --! include ids.lua
    for i = 1, n do
        local ends = redis.pcall('zscore', key, ids[i])
        if type(ends) == 'string' and tonumber(ends) > now then
            alive = alive + 1
        end
    end
    if alive == n then
        redis.call('zremrangebyscore', key, '(0', 0)
    end
    for i = 1, alive == n and n or 0 do
        redis.call('zadd', key, now + ARGV[3 * k - 2], ids[i])
    end
    kept[k] = alive == n and 1 or 0
end
return kept
