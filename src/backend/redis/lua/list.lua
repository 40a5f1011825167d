-- list.lua - who stands under some names, for those who look.
--   ARGV   1 what the keys of client records begin with; '' they are elsewhere
--          2 how the rest was found: '' it is names, asked for;
--            'hash', 'list', 'zset' or 'string' it is keys of that type
--          then the names or keys
--   gives  for each {name, token, place, …}, where a place is
--          {kind, owner, 1 holds or 0 waits, ms left, count, record}
-- Read only.  Nothing of this is in KEYS, for some of it may be forbidden to
-- our user: that is passed over.  A record is who the owner's client is,
-- without what it does; '' if it is none of ours.  Any key may come by here:
-- what is too big to be ours is other people's data and is not read.
--
-- A counter could be a semaphore, a latch or anybody's number.  So it is told
-- only to those who ask for its name, if permits are leased from it, or if a
-- note of ours says what it is.  Without a note it is called a latch if
-- somebody waits for it as for one.
--! include now.lua
local found_by = ARGV[2]

local function ask(...)
    local reply = redis.pcall(...)
    return (type(reply) ~= 'table' or not reply.err) and reply or nil
end

local function type_of(key)
    local reply = ask('type', key)
    return reply and reply.ok or 'none'
end

local function left(key)
    return ask('pttl', key) or -1
end

-- The part of its keys that stands for the name: in braces unless it has some.
local function tag_of(name)
    return string.find(name, '{', 1, true) and name or '{' .. name .. '}'
end

-- The name a key was made for: `{a}` stands for `a`, unless that is nothing.
local function name_of(key)
    if found_by == '' or found_by == 'hash' then
        return key
    end
    local tag = found_by == 'list' and
                string.match(key, '^redisson_lock_queue:(.*{.*)$') or
                found_by == 'string' and
                string.match(key, '^holdfast_counter:(.*{.*)$') or
                found_by == 'zset' and
                string.match(key, '^(.*{.*):timeout$')
    local inner = tag and string.match(tag, '^{([^{]+)}$')
    if inner and (type_of(inner) ~= 'none' or type_of(tag) == 'none') then
        return inner
    end
    return tag
end

local records = {}

local function record_of(client)
    if not client or ARGV[1] == '' then
        return ''
    end
    if not records[client] then
        local text = ask('getrange', ARGV[1] .. client, 0, 1022) or ''
        records[client] = string.match(text, '^(.-)\ndoing=') or text
    end
    return records[client]
end

local function add(places, kind, owner, holds, ms, count)
    local client = string.match(owner, '^(.-):%-?%d+$') or
                   string.match(owner, '^(.-):%-?%d+:write$')
    places[#places + 1] = {kind, owner, holds, ms, count, record_of(client)}
end

-- The longest of a reader's leases; 0: all of them are over.
local function read_left(tag, owner, holds)
    local longest = 0
    for i = 1, math.min(tonumber(holds) or 1, 16) do
        local ms = left(tag .. ':' .. owner .. ':rwlock_timeout:' .. i)
        longest = ms == -1 and ms or math.max(longest, ms)
    end
    return longest
end

local function is_owner(field)
    return string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+')
end

-- What a field of a lock's hash stands for, and its lease.
local function sort_of(field, holds, rw, fair, tag, ms)
    if rw and not string.match(field, ':write$') then
        return 'read', read_left(tag, field, holds)
    end
    if not rw and (fair or string.match(field, ':0%d+$')) then
        return 'fair', ms
    end
    return rw and 'write' or 'lock', ms
end

local function queue_of(tag)
    return ask('lrange', 'redisson_lock_queue:' .. tag, 0, 1023) or {}
end

local function see_waiters(places, tag, queue)
    for _, owner in ipairs(queue) do
        add(places, 'fair', owner, 0, -1, 0)
    end
    local writers = ask('zrangebyscore', 'holdfast_rw_writers:' .. tag, now,
                        '+inf', 'LIMIT', 0, 1024) or {}
    for _, owner in ipairs(writers) do
        add(places, 'write', owner, 0, -1, 0)
    end
end

-- Most hashes that come by are other people's: of them no more is read than it
-- takes to know.
local function see_lock(places, name, tag)
    local mode = ask('hget', name, 'mode')
    local rw = mode == 'read' or mode == 'write'
    if (ask('hlen', name) or 0) > (rw and 1024 or 64) then
        return
    end
    local fields, lease, queue = ask('hgetall', name) or {}, nil, nil
    for i = 1, #fields, 2 do
        if is_owner(fields[i]) then
            lease, queue = lease or left(name), queue or queue_of(tag)
            local kind, ms = sort_of(fields[i], fields[i + 1], rw, #queue > 0,
                                     tag, lease)
            if ms ~= 0 then
                add(places, kind, fields[i], 1, ms, 0)
            end
        end
    end
    if #places > 2 or found_by == '' then
        see_waiters(places, tag, queue or queue_of(tag))
    end
end

local function see_permits(places, zset)
    local leased = ask('zrangebyscore', zset, now + 1, '+inf', 'WITHSCORES',
                       'LIMIT', 0, 1024) or {}
    for i = 1, #leased, 2 do
        local ends = tonumber(leased[i + 1])
        if #leased[i] == 16 then
            local id = string.format('%08x%08x%08x%08x',
                                     struct.unpack('>I4I4I4I4', leased[i]))
            add(places, 'permit', id, 1,
                ends < 922337203685477 and ends - now or -1, 0)
        end
    end
end

local function counter_kind(name, tag)
    local note = ask('get', 'holdfast_counter:' .. tag)
    local channel = 'redisson_countdownlatch__channel__{' .. name .. '}'
    local heard = not note and ask('pubsub', 'numsub', channel)
    return note or heard and heard[2] > 0 and 'latch' or 'semaphore'
end

-- Told once: by its permits if some are leased, else by its note.
local function see_counter(places, name, tag, count)
    local zset, permits = tag .. ':timeout', {}
    see_permits(permits, zset)
    if found_by == (#permits > 0 and 'string' or 'zset') then
        return
    end
    count = count + (ask('zcount', zset, 0, now) or 0)
    add(places, #permits > 0 and 'semaphore' or counter_kind(name, tag), '', 0,
        left(name), count)
    for _, permit in ipairs(permits) do
        places[#places + 1] = permit
    end
end

local function see_text(places, name, tag)
    local text = ask('getrange', name, 0, 255) or ''
    if #text < 20 and string.match(text, '^%-?%d+$') then
        see_counter(places, name, tag, tonumber(text))
    elseif found_by == '' and text ~= '' then
        add(places, 'simple', text, 1, left(name), 0)
    end
end

local function see(line, name)
    local tag = tag_of(name)
    local kind = found_by == 'hash' and 'hash' or type_of(name)
    if kind == 'hash' and (found_by == '' or found_by == 'hash') then
        see_lock(line, name, tag)
    elseif kind == 'string' and found_by ~= 'list' then
        see_text(line, name, tag)
    elseif kind == 'none' and (found_by == '' or found_by == 'list') then
        see_waiters(line, tag, queue_of(tag))
    end
    if kind == 'none' and (found_by == '' or found_by == 'zset') then
        see_permits(line, tag .. ':timeout')
    end
    if #line > 2 then
        line[2] = tonumber(ask('get', 'redisson_lock_token:' .. tag) or 0) or 0
    end
end

local lines = {}
for i = 3, #ARGV do
    local name = name_of(ARGV[i])
    lines[i - 2] = {name or '', 0}
    if name then
        see(lines[i - 2], name)
    end
end
return lines
