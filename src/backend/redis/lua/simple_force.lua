-- simple_force.lua - free the simple lock whoever holds it.
--   KEYS   1 the lock   2 the token
--   ARGV   1 value, '' for any   2 channel   3 floor of the token, or ''
--   gives  1: free now   0: it was not held, or not with that value
local holder, token = redis.call('get', KEYS[1]), nil
if not holder or (ARGV[1] ~= '' and holder ~= ARGV[1]) then
    return 0
end
--! include token.lua
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[2], '0')
return 1
