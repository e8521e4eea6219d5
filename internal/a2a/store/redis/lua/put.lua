-- Stores a push configuration. Answers its generation, 0 if a limit is reached.
local name, id, config, acked, expires, replica, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local maxpertask, max = tonumber(ARGV[8]), tonumber(ARGV[9])
local k = P .. 'p:' .. name
expirepushes()
local former = redis.call('HEXISTS', k, 'c' .. id)
if redis.call('HLEN', k) / 2 - former >= maxpertask then return 0 end
while redis.call('ZCARD', P .. 'q:open') + redis.call('ZCARD', P .. 'q:closed') - redis.call('HEXISTS', k, 'c' .. id) >= max do
  local first = redis.call('ZRANGE', P .. 'q:closed', 0, 0)[1]
  if not first then return 0 end
  removepush(first)
end
-- A generation is at least the time, so that a server restored from a backup does not assign a generation twice.
local generation = int(math.max(tonumber(redis.call('GET', P .. 'generation') or 0) + 1, now()))
redis.call('SET', P .. 'generation', generation, 'PX', keep)
redis.call('HSET', k, 'c' .. id, config)
filepush(name, id, generation, acked, expires, replica, keep)
return tonumber(generation)
