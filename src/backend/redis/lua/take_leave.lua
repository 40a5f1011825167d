-- take_leave.lua - a client ends: nothing is left of its record.
--   KEYS   1 its record   2 all clients of the shelf
--   ARGV   1 the client
--   gives  nothing
redis.call('del', KEYS[1])
redis.call('zrem', KEYS[2], ARGV[1])
