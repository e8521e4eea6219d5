-- The part that the scripts of push configurations share. A configuration is two fields of its task's hash: its
-- content, and its state. Its member in a queue is the principal, the length of the task's name, the task's name and the
-- configuration's id. pushesof is the key of the configurations of a principal, in all its tenants, by the time at which they
-- expire.
local function pushname(principal, name, id) return principal .. string.format('%06d', #name) .. name .. id end

local function pushesof(principal) return P .. 'f:' .. principal end

-- pushkey returns the key of the task's hash and the id of a configuration.
local function pushkey(member)
  local size, rest = tonumber(member:sub(HASH + 1, HASH + 6)), member:sub(HASH + 7)
  return P .. 'p:' .. rest:sub(1, size), rest:sub(1 + size)
end

local function removepush(member)
  local k, id = pushkey(member)
  redis.call('HDEL', k, 'c' .. id, 's' .. id)
  for _, key in ipairs({P .. 'q:open', P .. 'q:closed', pushesof(member:sub(1, HASH))}) do redis.call('ZREM', key, member) end
  charge('push', member, member:sub(1, HASH), 0)
end

local function expirepushes()
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'q:closed', '-inf', int(now()), 'LIMIT', 0, 100)) do
    removepush(member)
  end
end

local function filepush(principal, name, id, generation, acked, through, expires, replica, keep)
  local k, member, of = P .. 'p:' .. name, pushname(principal, name, id), pushesof(principal)
  redis.call('HSET', k, 's' .. id, generation .. ' ' .. acked .. ((through == '' or through == '0') and '' or '-' .. through)
    .. ' ' .. expires .. ' ' .. replica)
  local from, to, score = P .. 'q:closed', P .. 'q:open', generation
  if expires ~= '' then from, to, score = to, from, expires end
  redis.call('ZREM', from, member)
  redis.call('ZADD', to, score, member)
  redis.call('ZADD', of, expires ~= '' and expires or '+inf', member)
  for _, key in ipairs({to, of}) do redis.call('PEXPIRE', key, keep) end
  -- The configurations of a task live as long as the task.
  local left = redis.call('PTTL', P .. 't:' .. name)
  redis.call('PEXPIRE', k, left > 0 and left or keep)
  livebytes('push', keep)
  liveshare('push', shareof('push', principal), keep)
end
