-- fair_attempt.lua - take the fair lock, or stand in its line and say when to
-- ask again.
--   KEYS   1 the lock: hash, owner -> holds   2 the token: counter
--          3 the queue   4 the ends of those in it
--   ARGV   1 lease in ms   2 owner   3 floor of the token, or ''
--          4 '1': it waits   5 channel
--   gives  the token, a text: held by this call; or a status: by an earlier
--          one, or unasked; or a number: ms until asking makes sense
-- Who only tries does not stand in line, but does not overtake it either.
-- Only the first asks when the lease ends; the others are told, and look again
-- because a message may be lost.
local token, channel, me = nil, ARGV[5], ARGV[2]
if redis.call('hexists', KEYS[1], me) == 1 then
    --! include held.lua
end
--! include fair_line.lua
local waits, stands = ARGV[4] == '1', redis.call('zscore', KEYS[4], me)
if stands and tonumber(stands) < now + BRIEF then -- it asks, so it lives
    redis.pcall('zadd', KEYS[4], now + BRIEF, me)
end
local free = redis.call('exists', KEYS[1]) == 0
if free and hand_on(me) then
    if not token then
        --! include token.lua
    end
    redis.call('hset', KEYS[1], me, '1')
    redis.call('pexpire', KEYS[1], ARGV[1])
    if stands then
        leave(me, ends_of(me) - now)
    end
    return token
end
local first = first_of_line()
if waits and not stands then
    local last = redis.call('lindex', KEYS[3], -1)
    local ends = math.max(now + BRIEF, last and ends_of(last) or 0)
    if last and not is_ours(last) then
        ends = math.max(now, ends_of(last)) + LONG
    end
    redis.call('zadd', KEYS[4], ends, me)
    redis.call('rpush', KEYS[3], me)
    if not last then
        redis.call('pexpire', KEYS[3], 3600000)
        redis.call('pexpire', KEYS[4], 3600000)
    end
    first = first or me
end
if first and first ~= me then
    return free and 1000 or 5000
end
return math.min(redis.call('pttl', KEYS[1]), 3000)
