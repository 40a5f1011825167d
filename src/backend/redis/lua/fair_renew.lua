-- fair_renew.lua - say of many claims on fair locks that they live.
--   KEYS   for each claim: the lock, the queue, the ends of those in it
--   ARGV   for each claim: lease in ms, owner, '1': it waits
--   gives  for each claim: 1 its lease or its place is kept
--          0 it has neither, or it waits and should ask: the lock is its own
--            already, or is free and it is first, or second to a dead one
-- pcall: one name that became something else must not stop the others.
--! include now.lua
local kept = {}
for i = 1, #KEYS / 3 do
    local lock, queue, ends = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
    local lease, me, waits = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    local holds = redis.pcall('hexists', lock, me) == 1
    kept[i] = 0
    if holds and waits == '' then
        kept[i] = redis.call('pexpire', lock, lease)
    elseif holds then
        if redis.call('pttl', lock) < 1000 then -- until it asks
            redis.call('pexpire', lock, 1000)
        end
    elseif waits == '1' then
        local mine = redis.pcall('zscore', ends, me)
        if type(mine) == 'string' then
            if tonumber(mine) < now + 10000 then
                redis.pcall('zadd', ends, now + 10000, me)
            end
            local left = redis.call('pttl', ends)
            if left >= 0 and left < 1800000 then
                redis.call('pexpire', queue, 3600000)
                redis.call('pexpire', ends, 3600000)
            end
            if redis.call('exists', lock) == 1 or
               (redis.pcall('lindex', queue, 0) ~= me and
                redis.pcall('lindex', queue, 1) ~= me) then
                kept[i] = 1
            end
        end
    end
end
return kept
