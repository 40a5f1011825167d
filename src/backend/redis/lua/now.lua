--! part
-- now.lua - the server's clock: `us` and, in whole milliseconds, `now`.
local time = redis.call('time')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
