-- fair_release.lua - leave the fair lock or its line, and hand the lock on.
--   KEYS   1 the lock   2 the token   3 the queue   4 the ends of those in it
--   ARGV   1 owner   2 channel   3 floor of the token, or ''
--   gives  1: it is out   0: it neither held nor waited
-- HDEL passes when the server is out of memory; then nobody is granted the
-- lock unasked, but woken to ask.
local token, channel, me = nil, ARGV[2], ARGV[1]
local out = redis.call('hdel', KEYS[1], me)
--! include fair_line.lua
local stands = out == 0 and redis.call('zscore', KEYS[4], me)
if stands then
    local left = ends_of(me) - now
    if redis.call('lindex', KEYS[3], 0) == me then
        leave(me, left)
    else
        --! include fair_step_out.lua
    end
    out = 1
end
if redis.call('exists', KEYS[1]) == 0 then
    hand_on()
end
return out
