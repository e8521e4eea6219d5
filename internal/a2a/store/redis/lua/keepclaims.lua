-- Extends the claims on the messages of the tasks that a replica holds. A claim with a longer time to live keeps it.
local held = redis.call('HGETALL', P .. 'h:' .. ARGV[1])
for h = 1, #held, 2 do
  local packed = redis.call('HGET', P .. 't:' .. held[h], 'claims')
  local claims = packed and cmsgpack.unpack(packed) or {}
  for i = 1, #claims, 2 do
    local key = P .. 'k:' .. claims[i]
    if redis.call('GET', key) == claims[i + 1] then redis.call('PEXPIRE', key, ARGV[2], 'GT') end
  end
end
return 0
