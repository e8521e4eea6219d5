-- Sets a claim of the replica ARGV[4] on a message unless there is one. Answers the claim that is in effect, and 1 if the replica has no
-- lease: another replica would take the claim for one of a dead replica.
if redis.call('EXISTS', P .. 'm:' .. ARGV[4]) == 0 then return 1 end
local key = P .. 'k:' .. ARGV[1]
return redis.call('SET', key, ARGV[2], 'NX', 'GET', 'PX', ARGV[3]) or ARGV[2]
