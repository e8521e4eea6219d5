local key = P .. 'k:' .. ARGV[1]
if redis.call('GET', key) == ARGV[2] then redis.call('UNLINK', key) end
return 0
