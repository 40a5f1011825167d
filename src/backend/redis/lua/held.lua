--! part
-- held.lua - answers an owner who holds already, at the end of a block.
--   KEYS 1 and 2, ARGV 1 and 3 as in the scripts that grant; `token` is nil.
-- A status, not a text: the caller may have asked before and been answered.
-- Others may hold beside it, and for longer; else something is written in any
-- case, because WAIT is about what the same connection wrote.
token = redis.call('get', KEYS[2])
if not token then
    --! include token.lua
end
if redis.call('pttl', KEYS[1]) <= tonumber(ARGV[1]) then
    redis.call('pexpire', KEYS[1], ARGV[1])
end
return {ok = token}
