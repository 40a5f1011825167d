-- list.lua - what stands under some names, for those who look.
--   ARGV   1 what the keys of client records begin with
--          then for each name: the name, the key of its token
--   gives  for each name {type, ms left, token, {owner, record, …}}
-- Read only.  The names are no KEYS, for some may be forbidden to our user:
-- those are passed over.  A record is what the owner's client says of itself,
-- '' if it is none of ours; the owner of a simple lock is its value.  Any hash
-- may come by here: big ones are other people's data and are not read.
local lines = {}
for i = 2, #ARGV, 2 do
    local name, owners, line = ARGV[i], {}, {}
    local kind = redis.pcall('type', name).ok or 'none'
    if kind == 'hash' and redis.call('hlen', name) <= 64 then
        owners = redis.call('hkeys', name)
    elseif kind == 'string' then
        owners = {redis.call('getrange', name, 0, 255)}
    end
    for _, owner in ipairs(owners) do
        local client = string.match(owner, '^(.+):%-?%d+$')
        local record = client and redis.pcall('get', ARGV[1] .. client)
        line[#line + 1] = owner
        line[#line + 1] = type(record) == 'string' and record or ''
    end
    local token = redis.pcall('get', ARGV[i + 1])
    local left = redis.pcall('pttl', name)
    lines[#lines + 1] = {kind, type(left) == 'number' and left or -1,
                         tonumber(type(token) == 'string' and token or 0) or 0,
                         line}
end
return lines
