-- list.lua - what stands under some names, for those who look.
--   KEYS   names, and after them as many token keys
--   ARGV   1 what the keys of client records begin with
--   gives  for each name {type, ms left, token, {owner, record, …}}
-- Read only.  A record is what the owner's client says of itself, '' if it
-- is none of ours; the owner of a simple lock is its value.  Any hash may
-- come by here: big ones are other people's data and are not read.
local lines, n = {}, #KEYS / 2
for i = 1, n do
    local kind = redis.call('type', KEYS[i]).ok
    local owners, line = {}, {}
    if kind == 'hash' and redis.call('hlen', KEYS[i]) <= 64 then
        owners = redis.call('hkeys', KEYS[i])
    elseif kind == 'string' then
        owners = {redis.call('getrange', KEYS[i], 0, 255)}
    end
    for _, owner in ipairs(owners) do
        local client = string.match(owner, '^(.+):%-?%d+$')
        local record = client and redis.pcall('get', ARGV[1] .. client)
        line[#line + 1] = owner
        line[#line + 1] = type(record) == 'string' and record or ''
    end
    local token = redis.pcall('get', KEYS[n + i])
    lines[i] = {kind, redis.call('pttl', KEYS[i]),
                tonumber(type(token) == 'string' and token or 0) or 0, line}
end
return lines
