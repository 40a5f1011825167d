-- A guard for Redis and Valkey: runs a command unless the token is older than
-- one that the resource has seen.
--
--     redis-cli --eval redis.lua '{orders}:guard' '{orders}' , 1763251200000000 \
--         SET '{orders}' 'new value'
--
--   KEYS   1 the record of the resource, a key of its own without expiry, which
--          is made by the first call and belongs to no lock
--          2… those that the command touches.  In a cluster all of them in one
--          slot: what stands in the braces is the same
--   ARGV   1 the token   2… the command and its arguments; none: only the token
--          is taken down
--   gives  what the command gives, or "OK"; or the error "FENCED …", and nothing
--          has been done
--
-- An equal token passes: it is the same holder that goes on.  Tokens are
-- compared as text, since numbers of this language are not exact above 2^53.
local token = ARGV[1]
if not token or not string.find(token, '^[1-9]%d*$') then
    return redis.error_reply('FENCED there is no token')
end
local seen = redis.call('GET', KEYS[1])
if seen and (#seen > #token or (#seen == #token and seen > token)) then
    return redis.error_reply('FENCED token ' .. token .. ' is older than ' .. seen)
end
if seen ~= token then
    redis.call('SET', KEYS[1], token)
end
if not ARGV[2] then
    return redis.status_reply('OK')
end
return redis.call(unpack(ARGV, 2))
