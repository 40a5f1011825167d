-- delay.lua - the lock delay: stands in front of the scripts that grant.
--   KEYS   the last is the era: string, `replid until`
--   DELAY  in ms, written in front of this
--   gives  a number: ms until anything may be granted; or goes on
-- A master that was a replica may lack what was granted just before the old
-- one died.  So it grants nothing until all that can have been granted there
-- has ended.  The server gets a new replication id when it is promoted: the
-- era.  When none is known here, a server that was ever a replica has one
-- before its own.
do
    local info = redis.call('info', 'replication')
    local id = string.match(info, 'master_replid:(%x+)') or ''
    local before = string.match(info, 'master_replid2:(%x+)') or ''
    local time = redis.call('time')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local era = redis.call('get', KEYS[#KEYS])
    local known, ends = string.match(era or '', '^(%x+) (%d+)$')
    if known ~= id then
        ends = (era or string.find(before, '[^0]')) and now + DELAY or 0
        redis.call('set', KEYS[#KEYS], string.format('%s %.0f', id, ends))
    end
    if tonumber(ends) > now then
        return tonumber(ends) - now
    end
end
