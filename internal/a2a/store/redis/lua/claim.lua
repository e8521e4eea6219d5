-- Answers the claim that stands.
local key = P .. 'k:' .. ARGV[1]
local former = redis.call('GET', key)
if former then return former end
redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
return ARGV[2]
