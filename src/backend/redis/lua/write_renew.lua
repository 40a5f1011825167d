-- write_renew.lua - say of many writers that they live.
--   KEYS   for each: the lock, writers who go first
--   ARGV   for each: lease in ms, owner, '1': it waits
--   gives  for each: 1 its lease or its place is kept
--          0 it has neither, or it waits and holds already: it should ask
-- The lock lasts at least as long as what its writer reads beside.
--! include now.lua
local kept = {}
for i = 1, #KEYS / 2 do
    local lock, writers = KEYS[2 * i - 1], KEYS[2 * i]
    local lease, owner, waits = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    kept[i] = 0
    if waits == '1' then
        if redis.pcall('hexists', lock, owner) ~= 1 and
           type(redis.pcall('zscore', writers, owner)) == 'string' then
            redis.pcall('zadd', writers, now + 10000, owner)
            redis.call('pexpire', writers, 60000)
            kept[i] = 1
        end
    elseif redis.pcall('hexists', lock, owner) == 1 then
        if redis.call('hlen', lock) == 2 or
           redis.call('pttl', lock) < tonumber(lease) then
            redis.call('pexpire', lock, lease)
        end
        kept[i] = 1
    end
end
return kept
