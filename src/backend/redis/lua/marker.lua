--! part
-- marker.lua - what was answered when this very request was carried out
-- before, into `before`; false: it was not.
--   KEYS   2 the marker of the request
-- A counter does not tell who changed it.  So a request leaves a marker with
-- its answer, for a minute: whoever hears nothing asks again, and is told the
-- answer instead of being counted twice.
local before = redis.call('get', KEYS[2])
