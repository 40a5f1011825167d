-- simple_alone.lua - take the simple lock by its one key, or say when to ask
-- again.
--   KEYS   1 the lock: string
--   ARGV   1 lease in ms   2 value   3 the last token that its client knows of
--   gives  as lock_alone.lua, where the reason stands
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[2] then
    return redis.call('pttl', KEYS[1])
end
--! include token_alone.lua
redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[1])
return token
