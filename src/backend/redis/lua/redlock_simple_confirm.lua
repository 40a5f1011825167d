-- redlock_simple_confirm.lua - what redlock_hold.lua does, with simple locks.
local function holds(key, value)
    local holder = redis.pcall('get', key)
    if holder then
        return holder == value
    end
    return nil
end
local function take(key, value, lease)
    redis.call('set', key, value, 'PX', lease)
end
--! include redlock_hold.lua
