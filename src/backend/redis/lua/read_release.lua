-- read_release.lua - leave the read side; the last one wakes who waits.
--   KEYS   1 the lock   2 the hold
--   ARGV   1 owner   2 channel   3 what the keys of holds begin with
--   gives  1: it is out   0: it did not hold
-- The lock lasts as long as its longest hold.  If that was ours, we look for
-- the longest of the others; who has none is gone, and keeps nobody out.
local prefix = ARGV[3]
--! include readers.lua
local mine, whole = redis.call('pttl', KEYS[2]), redis.call('pttl', KEYS[1])
redis.call('del', KEYS[2])
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
    return 0
end
if redis.call('hlen', KEYS[1]) > 1 then
    local longest = 0
    if redis.call('hget', KEYS[1], 'mode') ~= 'read' or
       (mine > 0 and mine + 50 < whole) then
        return 1
    end
    local fields = redis.call('hgetall', KEYS[1])
    for i = 1, #fields, 2 do
        longest = math.max(longest, longest_of(fields[i], fields[i + 1]))
        if longest + 50 >= whole then
            return 1
        end
    end
    if longest > 0 then
        redis.call('pexpire', KEYS[1], longest)
        return 1
    end
end
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[2], '0')
return 1
