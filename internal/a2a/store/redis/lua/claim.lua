-- Sets a claim on a message unless there is one. Answers the claim that is in effect.
local key = P .. 'k:' .. ARGV[1]
return redis.call('SET', key, ARGV[2], 'NX', 'GET', 'PX', ARGV[3]) or ARGV[2]
