--! part
-- readers.lua - longest_of(owner, holds): how long a reader has still to go,
-- in ms; 0: it is gone.
--   `prefix` is what the keys of holds begin with.
-- The i-th hold of a reader lives as long as prefix:owner:rwlock_timeout:i.
-- Ours have one; Java counts re-entries here.
local function longest_of(owner, holds)
    local longest = 0
    for i = 1, tonumber(holds) or 0 do
        local key = prefix .. ':' .. owner .. ':rwlock_timeout:' .. i
        longest = math.max(longest, redis.call('pttl', key))
    end
    return longest
end
