--! part
-- spent.lua - delete markers that nobody needs any more.
--   KEYS   2 the marker of the request   4… the markers
-- With this at its head a script works on a full server as well: that refuses
-- only what needs memory, and only as long as nothing has been written.
if #KEYS > 3 then
    redis.call('del', unpack(KEYS, 4))
else
    redis.call('pexpire', KEYS[2], 60000)
end
