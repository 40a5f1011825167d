-- write_force.lua - throw the writer out, whoever it is.
--   KEYS   1 the lock   2 the token
--   ARGV   1 owner, '' for any   2 channel   3 floor of the token, or ''
--   gives  1: out now   0: nobody writes, or not that one
local token
local writer
if redis.call('hget', KEYS[1], 'mode') ~= 'write' then
    return 0
end
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    if string.find(field, ':write$') and
       (ARGV[1] == '' or ARGV[1] == field) then
        writer = field
    end
end
if not writer and ARGV[1] ~= '' then
    return 0
end
--! include token.lua
if writer then
    redis.call('hdel', KEYS[1], writer)
end
--! include downgrade.lua
return 1
