--! part
-- stand_in.lua - somebody takes the owner's place in the lock KEYS 1; gives 0
-- if it did not hold.
--   ARGV   1 owner   3 who stands there instead
-- Without memory for the stand-in the owner's own field stays: nobody can
-- tell the difference, because an owner never asks again.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
if redis.pcall('hset', KEYS[1], ARGV[3], '1') == 1 then
    redis.call('hdel', KEYS[1], ARGV[1])
end
