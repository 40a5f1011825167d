--! part
-- token.lua - the next token of a name; drawn in by the scripts that grant.
-- Above the last one, and not below the server's clock in microseconds: a
-- count alone would repeat itself after a failover that lost a write.  The
-- floor is the client's estimate of that clock; without one we ask for it.
local function grow_token(key, floor)
    local token = tonumber(redis.call('get', key) or 0) + 1
    local least = tonumber(floor)
    if not least then
        local now = redis.call('time')
        least = now[1] * 1000000 + now[2]
    end
    if token < least then
        token = least
    end
    assert(token < 9007199254740992, 'the token is used up')
    redis.call('set', key, string.format('%.0f', token))
    return token
end
