-- announce.lua - say who a client is and what it does.
--   KEYS   1 its record   2 all clients of the shelf: by when records end
--   ARGV   1 the record   2 lease in ms   3 the client
--   gives  nothing
-- Those whose records have ended are struck from the list, a few at a time:
-- when thousands died nobody's turn shall take long.
--! include now.lua
local lease = tonumber(ARGV[2])
redis.call('set', KEYS[1], ARGV[1], 'PX', lease)
redis.call('zadd', KEYS[2], now + lease, ARGV[3])
local ended = redis.call('zrangebyscore', KEYS[2], '-inf', now, 'LIMIT', 0, 100)
if #ended > 0 then
    redis.call('zrem', KEYS[2], unpack(ended))
end
if redis.call('pttl', KEYS[2]) < lease then
    redis.call('pexpire', KEYS[2], lease)
end
