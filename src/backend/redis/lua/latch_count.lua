-- latch_count.lua - how many are left to count down; none: it is open.
--   KEYS   1 the latch: counter
--   gives  the number, never less than none
--! include number.lua
return count and count > 0 and count or 0
