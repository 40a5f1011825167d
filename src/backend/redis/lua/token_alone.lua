--! part
-- token_alone.lua - a token by the clock alone, into `token`.
--   ARGV   3 the last token that its client knows of
-- The key of the token is out of reach: see lock_alone.lua.
local time = redis.call('time')
local token = math.max(time[1] * 1000000 + time[2], tonumber(ARGV[3]) + 1)
assert(token < 9007199254740991, 'the token is used up')
token = string.format('%.0f', token)
