-- Stores a push configuration. Answers its generation, 0 if a limit is reached, and -1 if add is '1' and the task has a configuration
-- with the id.
local name, id, config, acked, expires, replica, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local maxpertask, max, principal, add, maxbytes = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10], ARGV[11], tonumber(ARGV[12])
local through, share = ARGV[13], ARGV[14]
local k, closed = P .. 'p:' .. name, P .. 'q:closed'
local member, size = pushname(principal, name, id), counted(#config)

-- uses returns the number and the bytes of the configurations of a share, or of a principal without one.
local function uses(of, share)
  if share and share ~= '' then return score('pushshares', share), score('pushshareweights', share) end
  return redis.call('ZCARD', pushesof(of)), bytesof('push', of)
end

-- endedof returns the ended configuration of the principal that expires first, or one of its share; nil for none.
local function endedof()
  local candidates = redis.call('ZREVRANGE', P .. 'pushn:' .. share, 0, 63)
  table.insert(candidates, 1, principal)
  for _, each in ipairs(candidates) do
    local first = redis.call('ZRANGEBYSCORE', pushesof(each), '-inf', '(+inf', 'LIMIT', 0, 1)[1]
    if first then return first end
  end
end

-- endedofother returns an ended configuration of a share that has least configurations or least bytes, or more; nil for none.
-- It considers only the 64 ended configurations that expire first.
local function endedofother(least, leastbytes)
  for _, each in ipairs(redis.call('ZRANGE', closed, 0, 63)) do
    local other = each:sub(1, HASH)
    local n, bytes = uses(other, shareof('push', other))
    if n >= least or bytes >= leastbytes then return each end
  end
end

mendshare('push', share)
expirepushes()
if add == '1' and redis.call('HEXISTS', k, 'c' .. id) == 1 then return -1 end
while true do
  local former = redis.call('HEXISTS', k, 'c' .. id)
  if redis.call('HLEN', k) / 2 - former >= maxpertask then return 0 end
  local all = redis.call('ZCARD', P .. 'q:open') + redis.call('ZCARD', closed) - former + 1
  local own, ownbytes = uses(principal, share)
  own = own - former + 1
  local more = size - (tonumber(redis.call('HGET', P .. 'pushbytes', member)) or 0)
  ownbytes = ownbytes + more
  -- A share leaves at least half as much room free as it uses, so that there is room for another share.
  if own <= 2 * (max - all) and ownbytes <= 2 * (maxbytes - total('push') - more) then break end
  local first = endedof() or endedofother(own, ownbytes)
  if not first then return 0 end
  removepush(first)
end
-- A generation is at least the time, so that a server restored from a backup does not assign a generation twice.
local generation = int(math.max(tonumber(redis.call('GET', P .. 'generation') or 0) + 1, now()))
redis.call('SET', P .. 'generation', generation, 'PX', keep)
redis.call('HSET', k, 'c' .. id, config)
filepush(principal, name, id, generation, acked, through, expires, replica, keep)
charge('push', member, principal, size, keep)
usesshare('push', principal, share, keep)
return tonumber(generation)
