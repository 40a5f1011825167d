--! part
-- reap.lua - give back the leased permits whose time is over; how many were
-- into `reaped`.  After number.lua and now.lua.
--   KEYS   1 the semaphore: counter   3 leased permits: zset, id -> end
-- Who draws this in publishes the number when it is done with it.
local reaped = redis.call('zcount', KEYS[3], 0, now)
if reaped > 0 then
    redis.call('zremrangebyscore', KEYS[3], 0, now)
    count = redis.call('incrby', KEYS[1], reaped)
end
