--! part
-- redlock_token.lua - a server's next token of the name, into `token`, a text.
--   KEYS 2, ARGV 3 and 4 as in the scripts that draw this in.
-- Above the last one here, and what the client proposes if that is within a
-- second of this server's clock, else that clock, in microseconds.  Servers
-- that hear the same proposal thus mostly name the same token, and one client
-- with a wrong clock cannot carry all tokens off.  Of several the counter
-- keeps the last.
do
    local time = redis.call('time')
    local now = time[1] * 1000000 + time[2]
    local first = tonumber(ARGV[3])
    if math.abs(first - now) > 1000000 then
        first = now
    end
    local last = tonumber(redis.call('get', KEYS[2]) or 0)
    if last >= first then
        first = last + 1
    end
    first = first + ARGV[4] - 1
    assert(first < 9007199254740991, 'the token is used up')
    token = string.format('%.0f', first)
    redis.call('set', KEYS[2], token)
end
