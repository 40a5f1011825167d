--! part
-- ids.lua - the ids of the permits of one claim into `ids`, 16 bytes each as
-- Redisson has them; made of the `first` and `n`.  Each differs from the one
-- before it in its last four bytes, a number that is one more.
local ids, stem = {first}, string.sub(first, 1, 12)
local last = struct.unpack('>I4', first, 13)
for i = 2, n do
    ids[i] = stem .. struct.pack('>I4', (last + i - 1) % 4294967296)
end
