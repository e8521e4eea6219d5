-- Adds ARGV[3] tokens to the counts of the caller and of all callers. A window lasts ARGV[4] milliseconds.
for _, account in ipairs(redis.call('ZRANGEBYSCORE', U, '-inf', int(now()), 'LIMIT', 0, 100)) do
  redis.call('ZREM', U, account)
  redis.call('HDEL', N, account)
end
for _, account in ipairs({own(), TOTAL}) do
  if left(account) > 0 then
    redis.call('HINCRBY', N, account, ARGV[3])
  else
    redis.call('ZADD', U, int(now() + ARGV[4]), account)
    redis.call('HSET', N, account, ARGV[3])
  end
end
for _, key in ipairs({U, N}) do redis.call('PEXPIRE', key, 2 * ARGV[4]) end
return 0
