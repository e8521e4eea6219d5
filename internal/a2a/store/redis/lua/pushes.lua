-- The part that the scripts of push configurations share. A configuration is two fields of its task's hash: its
-- content, and its state. Its member in a queue is the length of the task's name, the task's name and the configuration's id.
local function pushname(name, id) return string.format('%06d', #name) .. name .. id end

local function removepush(member)
  local size = tonumber(member:sub(1, 6))
  local k, id = P .. 'p:' .. member:sub(7, 6 + size), member:sub(7 + size)
  redis.call('HDEL', k, 'c' .. id, 's' .. id)
  redis.call('ZREM', P .. 'q:open', member)
  redis.call('ZREM', P .. 'q:closed', member)
end

local function expirepushes()
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'q:closed', '-inf', int(now()), 'LIMIT', 0, 100)) do
    removepush(member)
  end
end

local function filepush(name, id, generation, acked, expires, replica, keep)
  local k, member = P .. 'p:' .. name, pushname(name, id)
  redis.call('HSET', k, 's' .. id, generation .. ' ' .. acked .. ' ' .. expires .. ' ' .. replica)
  local from, to, score = P .. 'q:closed', P .. 'q:open', generation
  if expires ~= '' then from, to, score = to, from, expires end
  redis.call('ZREM', from, member)
  redis.call('ZADD', to, score, member)
  for _, key in ipairs({k, to}) do redis.call('PEXPIRE', key, keep) end
end
