-- lock_force.lua - free the plain lock whoever holds it.
--   KEYS   1 the lock   2 the token
--   ARGV   1 owner, '' for any   2 channel   3 floor of the token, or ''
--   gives  1: free now   0: it was not held, or not by that owner
-- The token grows, so that whoever checks tokens refuses the former holder.
local token
if redis.call('hlen', KEYS[1]) == 0 then
    return 0
end
if ARGV[1] ~= '' and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
--! include token.lua
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[2], '0')
return 1
