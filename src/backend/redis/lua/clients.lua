-- clients.lua - the records of some clients.
--   KEYS   1 all clients of the shelf
--   ARGV   1 what the keys of records there begin with
--          2 where to go on: '0' at first   3 about how many
--   gives  {where to go on, '0' if these were the last, client, record, …}
-- Read only.  Records lie in the slot of the list; one that ended, or is on
-- its way to another server, is passed over.
local page = redis.call('zscan', KEYS[1], ARGV[2], 'COUNT', ARGV[3])
local found = {page[1]}
for i = 1, #page[2], 2 do
    local record = redis.pcall('get', ARGV[1] .. page[2][i])
    if type(record) == 'string' then
        found[#found + 1] = page[2][i]
        found[#found + 1] = record
    end
end
return found
