-- scan.lua - some of all keys, as far as they may be of locks and numbers.
--   ARGV   1 where to go on: '0' at first   2 how many to look at
--   gives  {where to go on, '0' if these were the last, hashes, zsets, lists,
--          strings}: keys for list.lua by their type
-- Read only.  SCAN by itself filters by one type and one pattern, so there
-- would be four rounds through all keys; and most keys of a server of locks are
-- tokens, which are known by their names.
local page = redis.call('scan', ARGV[1], 'COUNT', ARGV[2])
local found = {page[1], {}, {}, {}, {}}
local places = {hash = 2, zset = 3, list = 4, string = 5}
local shapes = {hash = '', zset = '{.*}.*:timeout$',
                list = '^redisson_lock_queue:', string = '^holdfast_counter:'}
local passed_over = {['redisson_lock_token:'] = true,
                     ['redisson_lock_timeou'] = true}
for _, key in ipairs(page[2]) do
    if not passed_over[string.sub(key, 1, 20)] then
        local kind = redis.pcall('type', key).ok
        if shapes[kind] and string.find(key, shapes[kind]) then
            local keys = found[places[kind]]
            keys[#keys + 1] = key
        end
    end
end
return found
