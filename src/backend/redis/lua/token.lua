--! part
-- token.lua - the next token of the name, into `token`, which must be nil.
--   KEYS 2 and ARGV 3 as in the scripts that grant, which draw this in.
-- Above the last one, and not below the server's clock in microseconds: a
-- count alone would repeat itself after a failover that lost a write.  The
-- floor is the client's estimate of that clock; without one we ask for it.
-- Decimal texts of one length compare as numbers do, and cost less.
token = ARGV[3]
if token == '' then
    local now = redis.call('time')
    token = string.format('%.0f', now[1] * 1000000 + now[2])
end
local last = redis.pcall('set', KEYS[2], token, 'GET')
if type(last) == 'table' then -- Redis before 6.2, or it is refused
    last = redis.call('get', KEYS[2])
    redis.call('set', KEYS[2], token)
end
if last and (#last > #token or (#last == #token and last >= token)) then
    assert(tonumber(last) < 9007199254740991, 'the token is used up')
    token = string.format('%.0f', tonumber(last) + 1)
    redis.call('set', KEYS[2], token)
end
