--! part
-- sweep.lua - takes readers who are gone out of a lock in `mode` read, KEYS 1;
-- if that was everybody, the lock is free and `mode` false.  It ends with the
-- longest of those who stay.
--! include readers.lua
local fields, longest, gone = redis.call('hgetall', KEYS[1]), 0, {}
for i = 1, #fields, 2 do
    local left = longest_of(fields[i], fields[i + 1])
    longest = math.max(longest, left)
    if left == 0 and fields[i] ~= 'mode' then
        gone[#gone + 1] = fields[i]
    end
end
if longest == 0 then
    redis.call('del', KEYS[1])
    mode = false
else
    for _, owner in ipairs(gone) do
        redis.call('hdel', KEYS[1], owner)
    end
    redis.call('pexpire', KEYS[1], longest)
end
