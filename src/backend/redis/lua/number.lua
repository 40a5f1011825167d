--! part
-- number.lua - the counter KEYS 1 into `count`: a number, nil if there is none.
-- Whatever else stands under that name is not touched, and said.
local count = redis.pcall('get', KEYS[1])
if type(count) == 'table' or
   (count and not string.match(count, '^%-?%d+$')) then
    local what = redis.pcall('type', KEYS[1]).ok or 'something else'
    return redis.error_reply('WRONGTYPE it is a ' .. what .. ', no counter')
end
count = count and tonumber(count) or nil
