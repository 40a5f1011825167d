--! part
-- next_end.lua - ms until the next leased permit ends into `left`; an hour if
-- none will: Redisson gives those without an end a score of 922337203685477.
-- After reap.lua.
local left = tonumber(redis.call('zrange', KEYS[3], 0, 0, 'WITHSCORES')[2] or 0)
left = left > 0 and left < 922337203685477 and left - now or 3600000
