-- permit_attempt.lua - lease permits of a semaphore, or say when to ask again.
--   KEYS   1 the semaphore: counter   2 the token: counter
--          3 leased permits: zset, id -> end in ms of the server's clock
--   ARGV   1 lease in ms   2 id of the first, 16 bytes
--          3 floor of the token, or ''   4 how many   5 channel
--   gives  the token, a text: leased, by this call or an earlier one; or
--          a number: ms until a leased permit ends, or many
-- Ids that are there already are ours: the question is a repeat, or somebody
-- took a few of them away.  Only what is missing is taken.  What has ended is
-- given back when there are too few.  A semaphore that vanishes at some time
-- takes its leases with it.
local first, n, token = ARGV[2], tonumber(ARGV[4]), nil
--! include ids.lua
--! include number.lua
--! include now.lua
local more, taken = 0, 0
if (count or 0) < n or redis.call('zscore', KEYS[3], first) then
    local want = n
    --! include reap.lua
    for i = 1, n do
        want = want - (redis.call('zscore', KEYS[3], ids[i]) and 1 or 0)
    end
    if (count or 0) < want then
        if reaped > 0 and count > 0 then
            redis.pcall('publish', ARGV[5], count)
        end
        --! include next_end.lua
        return left
    end
    if want == 0 then
        token = redis.call('get', KEYS[2])
    end
    more = reaped
end
if not token then
    --! include token.lua
end
for i = 1, n do
    taken = taken + redis.call('zadd', KEYS[3], now + ARGV[1], ids[i])
end
if taken > 0 then
    count = redis.call('decrby', KEYS[1], taken)
end
local ends = redis.call('pttl', KEYS[1])
if ends > 0 then
    redis.call('pexpire', KEYS[3], ends)
end
if more > 0 and count > 0 then
    redis.pcall('publish', ARGV[5], count)
end
return token
