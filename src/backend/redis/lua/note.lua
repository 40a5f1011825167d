--! part
-- note.lua - note what a counter is, for list.lua: its number does not tell.
--   ARGV   5 the note   6 'semaphore' or 'latch'
-- For a week, unless it is set again: Redisson, too, may delete the counter,
-- and knows of no note.  Nothing but a list depends on it.
redis.pcall('set', ARGV[5], ARGV[6], 'PX', 604800000)
