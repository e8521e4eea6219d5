-- Renews a lease. The first time, it ends those of other incarnations of the same name. Answers the tasks that the
-- replica holds.
local me, lease, first = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local replicas, at = P .. 'replicas', now()
if first then
  local name = me:match('^(.*)/')
  for _, other in ipairs(redis.call('ZRANGE', replicas, 0, -1)) do
    if other ~= me and other:match('^(.*)/') == name then
      redis.call('UNLINK', P .. 'm:' .. other)
      if tonumber(redis.call('ZSCORE', replicas, other)) > at then redis.call('ZADD', replicas, int(at), other) end
    end
  end
end
redis.call('SET', P .. 'm:' .. me, '', 'PX', lease)
redis.call('ZADD', replicas, int(at + lease), me)
redis.call('PEXPIRE', replicas, ARGV[4])
return redis.call('HGETALL', P .. 'h:' .. me)
