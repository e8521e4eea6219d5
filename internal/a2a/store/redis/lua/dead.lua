-- Answers the replicas without a lease. If a replica holds no task, the script forgets it ARGV[1] milliseconds after the end of
-- its lease. It keeps the lease ends of the ARGV[3] forgotten replicas whose leases ended last: renew.lua compares them when a
-- replica returns.
local replicas, forgotten, at, forget = P .. 'replicas', P .. 'forgotten', now(), tonumber(ARGV[1])
local dead = {}
local all = redis.call('ZRANGE', replicas, 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local replica = all[i]
  if redis.call('EXISTS', P .. 'm:' .. replica) == 0 then
    if tonumber(all[i + 1]) + forget < at and redis.call('EXISTS', P .. 'h:' .. replica) == 0 then
      redis.call('ZREM', replicas, replica)
      redis.call('ZADD', forgotten, all[i + 1], replica)
      redis.call('ZREMRANGEBYRANK', forgotten, 0, -1 - ARGV[3])
      redis.call('PEXPIRE', forgotten, ARGV[2])
    else
      dead[#dead + 1] = replica
    end
  end
end
return dead
