--! part
-- downgrade.lua - the writer of KEYS 1 is out; `ARGV[2]` is the channel.
-- Out of memory the mode cannot be set: then nobody new may read until those
-- who do have left.
if redis.call('hlen', KEYS[1]) == 1 then
    redis.call('del', KEYS[1])
else
    redis.pcall('hset', KEYS[1], 'mode', 'read')
end
--! include tell_readers.lua
