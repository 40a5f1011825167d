-- read_force.lua - throw one reader out, or all of them.
--   KEYS   1 the lock   2 the token
--   ARGV   1 owner, '' for all   2 channel   3 floor of the token, or ''
--          4 what the keys of holds begin with
--   gives  1: out now   0: nobody reads, or not that one
local token
local fields, out, n = redis.call('hgetall', KEYS[1]), {}, 0
for i = 1, #fields, 2 do
    local owner, holds = fields[i], tonumber(fields[i + 1])
    local reads = owner ~= 'mode' and not string.find(owner, ':write$')
    if reads and holds and (ARGV[1] == '' or ARGV[1] == owner) then
        out[owner] = holds
        n = n + 1
    end
end
if n == 0 or redis.call('hexists', KEYS[1], 'mode') == 0 then
    return 0
end
--! include token.lua
for owner, holds in pairs(out) do
    for i = 1, holds do
        redis.call('del', ARGV[4] .. ':' .. owner .. ':rwlock_timeout:' .. i)
    end
    redis.call('hdel', KEYS[1], owner)
end
if redis.call('hlen', KEYS[1]) == 1 then
    redis.call('del', KEYS[1])
    redis.pcall('publish', ARGV[2], '0')
end
return 1
