-- What all scripts share. KEYS[1] begins every key of the agent and, by its hash tag, names their slot.
-- docs/adr tells the layout. A task's name is its owner and its id; in a queue its context stands between them.
local P = KEYS[1]
local HASH = 32

-- One moment, however often it is asked for.
local moment
local function now()
  if not moment then
    local t = redis.call('TIME')
    moment = t[1] * 1000 + math.floor(t[2] / 1000)
  end
  return moment
end

-- Numbers above 1e14 would be written in another way.
local function int(n) return string.format('%.0f', n) end

local IDLE = P .. 'q:idle'
local function queue(state)
  state = tonumber(state)
  if state >= 5 then return P .. 'q:ended' end
  if state >= 3 then return IDLE end
  return P .. 'q:busy'
end

-- live has a key live on for so long. That it lives a day less costs no write, and nobody sees it.
local function live(key, keep)
  if redis.call('PTTL', key) < keep - 86400000 then redis.call('PEXPIRE', key, keep) end
end

-- endedat is what a task says of its end, '' before.
local function endedat(state) return tonumber(state) >= 5 and int(now()) or '' end

-- hold makes a replica the one that runs a task; '' is none.
local function hold(name, former, replica, turn, keep)
  if former ~= replica and former ~= '' then redis.call('HDEL', P .. 'h:' .. former, name) end
  if replica == '' then
    if former ~= '' then redis.call('HDEL', P .. 't:' .. name, 'holder', 'turn') end
    return
  end
  redis.call('HSET', P .. 't:' .. name, 'holder', replica, 'turn', turn)
  redis.call('HSET', P .. 'h:' .. replica, name, redis.call('HGET', P .. 't:' .. name, 'owner'))
  live(P .. 'h:' .. replica, keep)
end

-- unclaim ends claims on messages, each named before what it is, and no others of the same messages.
local function unclaim(claims)
  for i = 1, #claims, 2 do
    local key = P .. 'k:' .. claims[i]
    if redis.call('GET', key) == claims[i + 1] then redis.call('UNLINK', key) end
  end
end

-- remove takes a task out of everything that names it, and tells those who follow it.
local function remove(member)
  local owner, context, id = member:sub(1, HASH), member:sub(HASH + 1, 2 * HASH), member:sub(2 * HASH + 1)
  local name = owner .. id
  redis.call('ZREM', P .. 'o:' .. owner, id)
  redis.call('ZREM', P .. 'c:' .. owner .. context, id)
  redis.call('ZREM', P .. 'w:' .. owner .. context, id)
  local task = redis.call('HMGET', P .. 't:' .. name, 'state', 'holder')
  if task[2] then redis.call('HDEL', P .. 'h:' .. task[2], name) end
  if task[1] then
    redis.call('ZREM', P .. 's:' .. owner .. task[1], id)
  else
    for s = 0, 8 do redis.call('ZREM', P .. 's:' .. owner .. s, id) end
  end
  for _, q in ipairs({'q:ended', 'q:idle', 'q:busy'}) do redis.call('ZREM', P .. q, member) end
  redis.call('UNLINK', P .. 't:' .. name, P .. 'l:' .. name)
  redis.call('PUBLISH', P .. 'e:' .. name, '')
end

-- expire removes tasks that ended long enough ago; some at a time, so that nobody waits for it.
local function expire(retention)
  local old = redis.call('ZRANGEBYSCORE', P .. 'q:ended', '-inf', int(now() - retention), 'LIMIT', 0, 100)
  for _, member in ipairs(old) do remove(member) end
  return #old
end

-- file puts a task where lists and queues look for it. Every key that is the task's or names it lives on for so long.
local function file(member, before, state, place, keep)
  local owner, context, id = member:sub(1, HASH), member:sub(HASH + 1, 2 * HASH), member:sub(2 * HASH + 1)
  local paused = P .. 'w:' .. owner .. context
  local keys = {P .. 'o:' .. owner, P .. 'c:' .. owner .. context, P .. 's:' .. owner .. state}
  if queue(state) == IDLE then keys[4] = paused end
  for _, key in ipairs(keys) do
    -- A list may have come to its end before the task.
    if redis.call('ZADD', key, place, id) == 1 then live(key, keep) end
  end
  if before == state then return end
  if before then
    redis.call('ZREM', P .. 's:' .. owner .. before, id)
    if queue(before) ~= queue(state) then redis.call('ZREM', queue(before), member) end
  end
  local name, at, to = owner .. id, int(now()), queue(state)
  if not before or queue(before) ~= to then redis.call('ZADD', to, at, member) end
  if before and queue(before) == IDLE and to ~= IDLE then redis.call('ZREM', paused, id) end
  for _, key in ipairs(keys) do live(key, keep) end
  for _, key in ipairs({to, P .. 't:' .. name, P .. 'l:' .. name}) do live(key, keep) end
end
