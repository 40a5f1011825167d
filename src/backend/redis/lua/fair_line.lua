--! part
-- fair_line.lua - the line of a fair lock: who is next, and how it is told.
--   KEYS   1 the lock: hash   2 the token: counter
--          3 the queue: list of owners, the next one first
--          4 their ends: zset, owner -> ms of the clock, dead if not later
--   ARGV   3 floor of the token, or ''
--   `channel` of the lock; a waiter's own is that, a colon and its owner.
--   `token` is nil, and afterwards what a grant was given, if there was one.
--
-- Two sorts of owners stand here.  Ours, `uuid:0number`, say every few seconds
-- that they live, which is good for ten.  Java's say so once: its end is that
-- of the one before it and as long again as it will wait, five minutes unless
-- its caller said otherwise; and when it leaves it takes these off from all
-- behind it.  So ours behind a Java one has five minutes more, or it would
-- seem dead when these are taken off, and hands that on when it leaves.
--! include now.lua
local BRIEF, LONG = 10000, 300000
-- Grants unasked; set otherwise where every grant must be asked for.
local DIRECT = true

local function is_ours(owner)
    return string.find(owner, ':0%d+$')
end

local function ends_of(owner)
    return tonumber(redis.call('zscore', KEYS[4], owner) or 0)
end

local function drop(owner)
    redis.call('lpop', KEYS[3])
    redis.call('zrem', KEYS[4], owner)
end

-- The first who lives and how long it will, or nil.  The dead are dropped, and
-- so is who stands in the queue alone.
local function first_of_line()
    local owner = redis.call('lindex', KEYS[3], 0)
    while owner do
        local left = ends_of(owner) - now
        if left > 0 then
            return owner, left
        end
        drop(owner)
        owner = redis.call('lindex', KEYS[3], 0)
    end
end

-- A Java one is next: from now on the keys stay as long as Java keeps them, for
-- it does not know that they can end.
local function leave_to_java()
    redis.call('persist', KEYS[3])
    redis.call('persist', KEYS[4])
end

-- The first leaves for good.
local function leave(owner, left)
    drop(owner)
    local heir = redis.call('lindex', KEYS[3], 0)
    if not heir then
        return
    end
    local over = math.min(ends_of(heir) - now - LONG, LONG)
    if left > BRIEF and over > 0 then
        for _, waiter in ipairs(redis.call('zrange', KEYS[4], 0, -1)) do
            redis.call('zincrby', KEYS[4], -over, waiter)
        end
    end
    if not is_ours(heir) then
        leave_to_java()
    end
end

-- For a second: time enough to hear of it and to renew.
local function grant(owner)
    if not token then
        --! include token.lua
    end
    redis.call('hset', KEYS[1], owner, '1')
    redis.call('pexpire', KEYS[1], 1000)
end

-- The lock is free: gives it to the first of ours who hears of it, or wakes
-- the first of Java's.  True if it is `me`'s, or if nobody stands there.
-- Whoever does not hear is gone and loses its place, unless it joined or spoke
-- a moment ago: then it is about to listen, and asks when it does.
local function hand_on(me)
    local owner, left = first_of_line()
    while owner and owner ~= me do
        local ear, heard = channel .. ':' .. owner, nil
        if not is_ours(owner) then
            leave_to_java()
        end
        if not DIRECT or not is_ours(owner) or not pcall(grant, owner) then
            redis.pcall('publish', ear, '0')
            return false
        end
        heard = redis.pcall('publish', ear,
                            string.format('%s:%.0f', token, us))
        if type(heard) == 'number' and heard > 0 then
            leave(owner, left)
            return false
        end
        redis.call('hdel', KEYS[1], owner)
        if type(heard) ~= 'number' or
           (left > BRIEF - 1000 and left <= BRIEF) then
            return false
        end
        leave(owner, left)
        owner, left = first_of_line()
    end
    if not me then
        redis.pcall('publish', channel, '0')
    end
    return true
end
