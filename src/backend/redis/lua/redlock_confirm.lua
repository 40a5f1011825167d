-- redlock_confirm.lua - what redlock_hold.lua does, with plain locks.
local function holds(key, owner)
    if redis.pcall('hexists', key, owner) == 1 then
        return true
    end
    if redis.call('exists', key) == 1 then
        return false
    end
    return nil
end
local function take(key, owner)
    redis.call('hset', key, owner, '1')
end
--! include redlock_hold.lua
