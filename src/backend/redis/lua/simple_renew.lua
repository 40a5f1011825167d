-- simple_renew.lua - compare and set the lease anew, for many locks.
--   KEYS   the locks
--   ARGV   for each lock: lease in ms, value
--   gives  for each lock: 1 renewed, 0 another value, or none
local kept = {}
for i, key in ipairs(KEYS) do
    kept[i] = 0
    if redis.pcall('get', key) == ARGV[2 * i] then
        kept[i] = redis.call('pexpire', key, ARGV[2 * i - 1])
    end
end
return kept
