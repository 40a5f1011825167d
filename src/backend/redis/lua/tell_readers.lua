--! part
-- tell_readers.lua - all who wait to read may come; `ARGV[2]` is the channel.
-- 1 is Redisson's word for it, and wakes the Java threads that sleep.  One
-- that is about to would miss it and sleep until the lease ends; 0 is kept for
-- it.
redis.pcall('publish', ARGV[2], '1')
redis.pcall('publish', ARGV[2], '0')
