-- Stores a push configuration. Answers its generation, 0 if a limit is reached, and -1 if add is '1' and the task has a configuration
-- with the id.
local name, id, config, acked, expires, replica, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local maxpertask, max, principal, add, maxbytes = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10], ARGV[11], tonumber(ARGV[12])
local through = ARGV[13]
local k, closed, of = P .. 'p:' .. name, P .. 'q:closed', pushesof(principal)
local member, size = pushname(principal, name, id), counted(#config)

-- endedofother returns an ended configuration of a principal that has least configurations or least bytes, or more; nil for none.
-- It considers only the 64 ended configurations that expire first.
local function endedofother(least, leastbytes)
  for _, each in ipairs(redis.call('ZRANGE', closed, 0, 63)) do
    local other = each:sub(1, HASH)
    if redis.call('ZCARD', pushesof(other)) >= least or bytesof('push', other) >= leastbytes then return each end
  end
end

expirepushes()
if add == '1' and redis.call('HEXISTS', k, 'c' .. id) == 1 then return -1 end
while true do
  local former = redis.call('HEXISTS', k, 'c' .. id)
  if redis.call('HLEN', k) / 2 - former >= maxpertask then return 0 end
  local all = redis.call('ZCARD', P .. 'q:open') + redis.call('ZCARD', closed) - former + 1
  local own = redis.call('ZCARD', of) - former + 1
  local more = size - (tonumber(redis.call('HGET', P .. 'pushbytes', member)) or 0)
  local ownbytes = bytesof('push', principal) + more
  -- A principal leaves at least half as much room free as it uses, so that there is room for another principal.
  if own <= 2 * (max - all) and ownbytes <= 2 * (maxbytes - total('push') - more) then break end
  local first = redis.call('ZRANGEBYSCORE', of, '-inf', '(+inf', 'LIMIT', 0, 1)[1] or endedofother(own, ownbytes)
  if not first then return 0 end
  removepush(first)
end
-- A generation is at least the time, so that a server restored from a backup does not assign a generation twice.
local generation = int(math.max(tonumber(redis.call('GET', P .. 'generation') or 0) + 1, now()))
redis.call('SET', P .. 'generation', generation, 'PX', keep)
redis.call('HSET', k, 'c' .. id, config)
filepush(principal, name, id, generation, acked, through, expires, replica, keep)
charge('push', member, principal, size, keep)
return tonumber(generation)
