-- Stores a push configuration. Answers its generation, 0 if a limit is reached, and -1 if add is '1' and the task has a configuration
-- with the id.
local name, id, config, acked, expires, replica, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local maxpertask, max, principal, add = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10], ARGV[11]
local k, closed, of = P .. 'p:' .. name, P .. 'q:closed', pushesof(principal)

-- endedofother returns an ended configuration of a principal that has least configurations or more; nil for none. It considers
-- only the 64 ended configurations that expire first.
local function endedofother(least)
  for _, member in ipairs(redis.call('ZRANGE', closed, 0, 63)) do
    if redis.call('ZCARD', pushesof(member:sub(1, HASH))) >= least then return member end
  end
end

expirepushes()
if add == '1' and redis.call('HEXISTS', k, 'c' .. id) == 1 then return -1 end
while true do
  local former = redis.call('HEXISTS', k, 'c' .. id)
  if redis.call('HLEN', k) / 2 - former >= maxpertask then return 0 end
  local all = redis.call('ZCARD', P .. 'q:open') + redis.call('ZCARD', closed) - former + 1
  local own = redis.call('ZCARD', of) - former + 1
  -- A principal leaves at least half as much room free as it uses, so that there is room for another principal.
  if own <= 2 * (max - all) then break end
  local first = redis.call('ZRANGEBYSCORE', of, '-inf', '(+inf', 'LIMIT', 0, 1)[1] or endedofother(own)
  if not first then return 0 end
  removepush(first)
end
-- A generation is at least the time, so that a server restored from a backup does not assign a generation twice.
local generation = int(math.max(tonumber(redis.call('GET', P .. 'generation') or 0) + 1, now()))
redis.call('SET', P .. 'generation', generation, 'PX', keep)
redis.call('HSET', k, 'c' .. id, config)
filepush(principal, name, id, generation, acked, expires, replica, keep)
return tonumber(generation)
