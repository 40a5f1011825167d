-- fair_force.lua - free the fair lock whoever holds it, and hand it on.
--   KEYS   1 the lock   2 the token   3 the queue   4 the ends of those in it
--   ARGV   1 owner, '' for any   2 channel   3 floor of the token, or ''
--   gives  1: free now   0: it was not held, or not by that owner
-- The token grows twice if somebody is granted the lock: the number between
-- belongs to nobody.
local token, channel = nil, ARGV[2]
if redis.call('hlen', KEYS[1]) == 0 then
    return 0
end
if ARGV[1] ~= '' and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
do
    --! include token.lua
end
token = nil
redis.call('del', KEYS[1])
--! include fair_line.lua
hand_on()
return 1
