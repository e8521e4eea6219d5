-- Answers the key of page tokens; the first call sets it. Each call renews its time to live.
local key = P .. 'pagekey'
redis.call('SET', key, ARGV[1], 'NX')
redis.call('PEXPIRE', key, ARGV[2])
return redis.call('GET', key)
