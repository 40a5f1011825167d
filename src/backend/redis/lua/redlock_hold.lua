--! part
-- redlock_hold.lua - confirm tokens, renew leases, or come back to servers that
-- forgot a lock; for many locks.
--   KEYS   for each lock: the lock, the token
--   ARGV   1 what is wanted: 'confirm', 'renew' or 'join'
--          2 to 'join': the client's clock in microseconds; else ''
--          then for each lock: lease in ms, owner, token
--   gives  for each lock: 1 held, with that lease; 0 held by nobody; -1 held
--          by another; or, to 'confirm', a text: held, but the token here is
--          that one, which is higher
-- Whoever draws this in says what it is to hold: `holds(key, owner)` is true,
-- false, or nil if nobody does; `take(key, owner, lease)` makes it so.
-- The token here never falls, and is written only while its owner holds: who
-- takes the lock next is given a higher one.  'join' is for a lock that a
-- majority has just renewed.  A later token here is mostly that of somebody
-- who was refused elsewhere; but it may be a later holder's, if the request
-- was under way for long.  So then it must be a second old at most.
-- pcall: one name that became something else must not stop the others.
local said, fresh = {}, false
if ARGV[1] == 'join' then
    local time = redis.call('time')
    fresh = math.abs(time[1] * 1000000 + time[2] - ARGV[2]) <= 1000000
end
for i = 1, #KEYS, 2 do
    local lock, counter = KEYS[i], KEYS[i + 1]
    local at = (i - 1) / 2 * 3 + 2
    local lease, owner, token = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    local last = redis.pcall('get', counter)
    local above = tonumber(token) - (type(last) == 'string' and last or 0)
    local held = holds(lock, owner)
    if held == nil and ARGV[1] == 'join' and (above >= 0 or fresh) then
        take(lock, owner, lease)
        held = true
    end
    if held and above < 0 and ARGV[1] == 'confirm' then
        said[#said + 1] = last
    elseif held then
        if above > 0 then
            redis.call('set', counter, token)
        end
        redis.call('pexpire', lock, lease)
        said[#said + 1] = 1
    else
        said[#said + 1] = held == nil and 0 or -1
    end
end
return said
