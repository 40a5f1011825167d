-- read_renew.lua - set the leases of many readers anew.
--   KEYS   for each: the lock, the hold
--   ARGV   for each: lease in ms, owner
--   gives  for each: 1 renewed, 0 it no longer holds
-- The lock lasts at least as long as each of its holds.
local kept = {}
for i = 1, #KEYS / 2 do
    local lock, hold = KEYS[2 * i - 1], KEYS[2 * i]
    local lease, owner = ARGV[2 * i - 1], ARGV[2 * i]
    kept[i] = 0
    if redis.pcall('hexists', lock, owner) == 1 then
        if redis.call('pexpire', hold, lease) == 0 then
            redis.pcall('set', hold, '1', 'PX', lease)
        end
        if redis.call('pttl', lock) < tonumber(lease) then
            redis.call('pexpire', lock, lease)
        end
        kept[i] = 1
    end
end
return kept
