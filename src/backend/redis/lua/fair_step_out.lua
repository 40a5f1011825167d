--! part
-- fair_step_out.lua - `me` leaves the middle of the line of fair_line.lua.
-- Ours with more than ten seconds `left` made those behind it wait for longer
-- than the one before it does: that is taken off again.
if left > BRIEF then
    local line, over = redis.call('lrange', KEYS[3], 0, -1), nil
    for i, owner in ipairs(line) do
        if over then
            redis.call('zincrby', KEYS[4], -over, owner)
        elseif owner == me then
            over = math.max(left - math.max(ends_of(line[i - 1]) - now, 0), 0)
        end
    end
end
redis.call('zrem', KEYS[4], me)
redis.call('lrem', KEYS[3], 1, me)
