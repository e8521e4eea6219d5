-- Answers the key of pages, which the first who asks makes. It lives on while lists are asked for.
local key = P .. 'pagekey'
redis.call('SET', key, ARGV[1], 'NX')
redis.call('PEXPIRE', key, ARGV[2])
return redis.call('GET', key)
