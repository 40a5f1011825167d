--! part
-- unhex.lua - the 16 bytes that `first` spells in 32 hex digits, into `first`.
local words = {}
for i = 1, 4 do
    words[i] = tonumber(string.sub(first, 8 * i - 7, 8 * i), 16)
end
first = struct.pack('>I4I4I4I4', unpack(words))
