redis.call('UNLINK', P .. 'm:' .. ARGV[1])
redis.call('ZADD', P .. 'replicas', 'XX', int(now()), ARGV[1])
return 0
