-- token_raise.lua - bring the token of a name up to that of its holder.
--   KEYS   1 the token: counter
--   ARGV   1 what lock_alone.lua or simple_alone.lua gave
--   gives  the holder's token, a text: that one, or more if there was one as
--          high
local token, last = ARGV[1], redis.call('get', KEYS[1])
if last and tonumber(last) >= tonumber(token) then
    assert(tonumber(last) < 9007199254740991, 'the token is used up')
    token = string.format('%.0f', tonumber(last) + 1)
end
redis.call('set', KEYS[1], token)
return token
