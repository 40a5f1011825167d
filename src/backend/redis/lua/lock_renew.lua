-- lock_renew.lua - set the leases of many plain locks anew.
--   KEYS   the locks
--   ARGV   for each lock: lease in ms, owner
--   gives  for each lock: 1 renewed, 0 no longer held by that owner
-- pcall: one name that became something else must not stop the others.
local kept = {}
for i, key in ipairs(KEYS) do
    kept[i] = 0
    if redis.pcall('hexists', key, ARGV[2 * i]) == 1 then
        kept[i] = redis.call('pexpire', key, ARGV[2 * i - 1])
    end
end
return kept
