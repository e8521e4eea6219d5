-- Answers the replicas without a lease. Forgets one that holds nothing after a time.
local replicas, at, forget = P .. 'replicas', now(), tonumber(ARGV[1])
local dead = {}
local all = redis.call('ZRANGE', replicas, 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local replica = all[i]
  if redis.call('EXISTS', P .. 'm:' .. replica) == 0 then
    if tonumber(all[i + 1]) + forget < at and redis.call('EXISTS', P .. 'h:' .. replica) == 0 then
      redis.call('ZREM', replicas, replica)
    else
      dead[#dead + 1] = replica
    end
  end
end
return dead
