-- The part that all scripts share. KEYS[1] is the prefix of every key of the agent; its hash tag puts them into one slot.
-- docs/explanation/task-store.md describes the keys. The name of a task is its owner followed by its id. The member of a task in a queue is
-- its owner, its context, its principal (the owner without the tenant) and its id.
local P = KEYS[1]
local HASH = 32

-- The time of the script in milliseconds.
local moment
local function now()
  if not moment then
    local t = redis.call('TIME')
    moment = t[1] * 1000 + math.floor(t[2] / 1000)
  end
  return moment
end

-- Lua would write numbers above 1e14 with an exponent.
local function int(n) return string.format('%.0f', n) end

-- rolledback records that the server has lost writes that it had confirmed: it was restored from a backup, or crashed
-- before they were on disk. Turns that began earlier are not run again, because a lost write may have ended them.
local function rolledback(keep) redis.call('SET', P .. 'rollback', int(now()), 'PX', keep) end

-- lastappend returns the field 'last' of a task: the number and the token of its last append. With this field, no script
-- reads an entry, which may have megabytes, only for its token.
local function lastappend(seq, token) return seq .. ' ' .. token end

-- appendtoken returns the token of the append whose last event has the number seq, nil without such an append. last is the
-- field 'last' of the task, which earlier versions do not write.
local function appendtoken(name, seq, last)
  local at, token = (last or ''):match('^(%d+) (.*)$')
  if at == seq then return token end
  local entry = redis.call('XRANGE', P .. 'l:' .. name, seq, seq)[1]
  if not entry then return nil end
  return entry[2][4] or redis.call('HGET', P .. 't:' .. name, 'created')
end

local IDLE = P .. 'q:idle'
local function queue(state)
  state = tonumber(state)
  if state >= 5 then return P .. 'q:ended' end
  if state >= 3 then return IDLE end
  return P .. 'q:busy'
end

-- live sets the time to live of a key, unless the current one is at most a day shorter. This saves writes. It reports whether it
-- did.
local function live(key, keep)
  if redis.call('PTTL', key) >= keep - 86400000 then return false end
  redis.call('PEXPIRE', key, keep)
  return true
end

-- endedat returns the time of the end for a terminal state, and '' for another one.
local function endedat(state) return tonumber(state) >= 5 and int(now()) or '' end

-- waiting returns the numbers of the waiting messages of a task. Each message is a field of its own.
local function waiting(t)
  local packed = redis.call('HGET', t, 'waiting')
  return packed and cmsgpack.unpack(packed) or {}
end

-- hold sets the replica that runs a task; '' for none. Without a holder, no message waits.
local function hold(name, former, replica, turn, keep)
  if former ~= replica and former ~= '' then redis.call('HDEL', P .. 'h:' .. former, name) end
  if replica == '' then
    if former == '' then return end
    local t = P .. 't:' .. name
    for _, number in ipairs(waiting(t)) do redis.call('HDEL', t, 'w' .. number) end
    redis.call('HDEL', t, 'holder', 'turn', 'waiting')
    return
  end
  redis.call('HSET', P .. 't:' .. name, 'holder', replica, 'turn', turn)
  redis.call('HSET', P .. 'h:' .. replica, name, redis.call('HGET', P .. 't:' .. name, 'owner'))
  live(P .. 'h:' .. replica, keep)
end

-- unclaim ends claims. A claim is a pair of a message and a value; a claim with another value on the same message stays.
local function unclaim(claims)
  for i = 1, #claims, 2 do
    local key = P .. 'k:' .. claims[i]
    if redis.call('GET', key) == claims[i + 1] then redis.call('UNLINK', key) end
  end
end

-- parts returns the owner, the context, the principal and the id in a member.
local function parts(member)
  return member:sub(1, HASH), member:sub(HASH + 1, 2 * HASH), member:sub(2 * HASH + 1, 3 * HASH), member:sub(3 * HASH + 1)
end

-- tasksof returns the number of tasks of a principal, in all its tenants. count also stores it.
local function tasksof(principal) return redis.call('ZCARD', P .. 'a:' .. principal) end

-- A principal that is a ServiceAccount uses a share together with the others of its namespace. The hash <kind>shareof has the share of a
-- principal. The sorted sets <kind>n:<share> and <kind>b:<share> have the principals of a share by the number and by the counted bytes of what they have,
-- and <kind>shares and <kind>shareweights the shares by the same sums. kind is '' for tasks, 'talk' for conversations and 'push' for push
-- configurations, and MEMBERS has the key of a principal's members.
local MEMBERS = {[''] = 'a:', talk = 'r:', push = 'f:'}
local function shareof(kind, principal) return redis.call('HGET', P .. kind .. 'shareof', principal) end

local function score(set, member) return tonumber(redis.call('ZSCORE', P .. set, member)) or 0 end

-- partsof returns the two sums of what the principals of a share have: what a principal adds, the set with these parts, and the set with the sum.
local function partsof(kind, share)
  local function number(of) return redis.call('ZCARD', P .. MEMBERS[kind] .. of) end
  local function bytes(of) return score(kind .. 'weights', of) end
  return {{number, kind .. 'n:' .. share, kind .. 'shares'}, {bytes, kind .. 'b:' .. share, kind .. 'shareweights'}}
end

-- resum computes a sum of a share anew, after its parts or the sum have expired.
local function resum(kind, share, part, of, all)
  redis.call('UNLINK', P .. of)
  redis.call('ZREM', P .. all, share)
  local every = redis.call('HGETALL', P .. kind .. 'shareof')
  for i = 1, #every, 2 do
    local to = every[i + 1] == share and part(every[i]) or 0
    if to > 0 then
      redis.call('ZADD', P .. of, to, every[i])
      redis.call('ZINCRBY', P .. all, to, share)
    end
  end
  local left = redis.call('PTTL', P .. kind .. 'shareof')
  for _, key in ipairs({of, all}) do
    if left > 0 and redis.call('PTTL', P .. key) == -1 then redis.call('PEXPIRE', P .. key, left) end
  end
end

-- mendshare computes the sums of a share anew if some of its keys have expired before others; '' for no share.
local function mendshare(kind, share)
  if share == '' then return end
  -- Without the shares of principals, nothing could be subtracted from the sums.
  if redis.call('EXISTS', P .. kind .. 'shareof') == 0 then redis.call('UNLINK', P .. kind .. 'shares', P .. kind .. 'shareweights') end
  for _, sum in ipairs(partsof(kind, share)) do
    local part, of, all = sum[1], sum[2], sum[3]
    if (redis.call('EXISTS', P .. of) == 1) ~= (score(all, share) > 0) then resum(kind, share, part, of, all) end
  end
end

-- sumup brings the sums of a principal's share up to date.
local function sumup(kind, principal)
  local share = shareof(kind, principal)
  if not share then return end
  mendshare(kind, share)
  local has = false
  for _, sum in ipairs(partsof(kind, share)) do
    local part, of, all = sum[1], sum[2], sum[3]
    local to = part(principal)
    local by = to - score(of, principal)
    has = has or to > 0
    if to > 0 then redis.call('ZADD', P .. of, to, principal) else redis.call('ZREM', P .. of, principal) end
    if by ~= 0 and tonumber(redis.call('ZINCRBY', P .. all, by, share)) <= 0 then redis.call('ZREM', P .. all, share) end
  end
  if not has then redis.call('HDEL', P .. kind .. 'shareof', principal) end
end

-- liveshare sets the time to live of the keys of a share; false for none.
local function liveshare(kind, share, keep)
  if not share then return end
  for _, key in ipairs({'shareof', 'shares', 'shareweights', 'n:' .. share, 'b:' .. share}) do live(P .. kind .. key, keep) end
end

-- usesshare records the share of a principal that has members; '' if it has one of its own.
local function usesshare(kind, principal, share, keep)
  if share == '' then return end
  redis.call('HSET', P .. kind .. 'shareof', principal, share)
  sumup(kind, principal)
  liveshare(kind, share, keep)
end

local function count(principal)
  local n = tasksof(principal)
  if n > 0 then redis.call('ZADD', P .. 'accounts', n, principal) else redis.call('ZREM', P .. 'accounts', principal) end
  sumup('', principal)
  return n
end

-- account updates the place of a task in the order in which the tasks of its principal are evicted: ended tasks, then tasks that
-- wait for their client, the oldest of both first. IDLEFROM is later than every time in milliseconds, so these tasks follow the
-- ended ones. Running tasks have the place +inf: they are not evicted.
local IDLEFROM = 1e13
local function account(principal, member, to)
  local place = '+inf'
  if to == IDLE then place = int(IDLEFROM + now()) elseif to == P .. 'q:ended' then place = int(now()) end
  redis.call('ZADD', P .. 'a:' .. principal, place, member)
end

-- counted returns the bytes that a task or a conversation counts for. Steps save writes: most appends do not change the count. The
-- overhead is for the keys, the fields and the places in sets.
local STEP, OVERHEAD = 4096, 2048
local function counted(bytes) return math.ceil((bytes + OVERHEAD) / STEP) * STEP end

-- The hash <kind>bytes has the bytes of each member and, as ALL, of all members. The sorted set <kind>weights has the principals by
-- their bytes. kind is '' for tasks and 'talk' for conversations. Both keys always have the same time to live.
local ALL = '*'
local function total(kind) return tonumber(redis.call('HGET', P .. kind .. 'bytes', ALL)) or 0 end

local function bytesof(kind, principal) return tonumber(redis.call('ZSCORE', P .. kind .. 'weights', principal)) or 0 end

local function livebytes(kind, keep)
  if live(P .. kind .. 'bytes', keep) then redis.call('PEXPIRE', P .. kind .. 'weights', keep) end
end

-- charge sets the bytes of a member, and returns by how much they grow; 0 removes the member. It subtracts what it has added,
-- whatever became of the member meanwhile.
local function charge(kind, member, principal, to, keep)
  local bytes, weights = P .. kind .. 'bytes', P .. kind .. 'weights'
  local by = to - (tonumber(redis.call('HGET', bytes, member)) or 0)
  if by == 0 then return 0 end
  if to > 0 then redis.call('HSET', bytes, member, to) else redis.call('HDEL', bytes, member) end
  local all = redis.call('HINCRBY', bytes, ALL, by)
  if all <= 0 then redis.call('HDEL', bytes, ALL) end
  if tonumber(redis.call('ZINCRBY', weights, by, principal)) <= 0 then redis.call('ZREM', weights, principal) end
  if all == by then livebytes(kind, keep) end
  sumup(kind, principal)
  return by
end

-- remove removes a task from all keys, and notifies its subscribers. It returns the principal and the counted bytes of the task.
local function remove(member)
  local owner, context, principal, id = parts(member)
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
  for _, q in ipairs({'q:ended', 'q:idle', 'q:busy', 'a:' .. principal}) do redis.call('ZREM', P .. q, member) end
  count(principal)
  local freed = -charge('', member, principal, 0)
  redis.call('UNLINK', P .. 't:' .. name, P .. 'l:' .. name, P .. 'j:' .. name)
  redis.call('PUBLISH', P .. 'e:' .. name, '')
  return principal, freed
end

-- expire removes up to 100 tasks whose retention has passed, so that one call is short.
local function expire(retention)
  local old = redis.call('ZRANGEBYSCORE', P .. 'q:ended', '-inf', int(now() - retention), 'LIMIT', 0, 100)
  for _, member in ipairs(old) do remove(member) end
  return #old
end

-- fade sets the time to live of a key, unless the current one is shorter.
local function fade(key, keep)
  if redis.call('PTTL', key) > keep then redis.call('PEXPIRE', key, keep) end
end

-- file updates the lists and queues of a task, and sets the time to live of all keys that contain or name it. The contents of an ended
-- task live for endedkeep. So does its conversation, unless one of its tasks waits for its client.
local function file(member, before, state, place, keep, endedkeep)
  local owner, context, principal, id = parts(member)
  local paused = P .. 'w:' .. owner .. context
  local keys = {P .. 'o:' .. owner, P .. 'c:' .. owner .. context, P .. 's:' .. owner .. state}
  if queue(state) == IDLE then keys[4] = paused end
  for _, key in ipairs(keys) do
    -- A list may expire before the task: the new list then needs a time to live.
    if redis.call('ZADD', key, place, id) == 1 then live(key, keep) end
  end
  if before == state then return end
  if before then
    redis.call('ZREM', P .. 's:' .. owner .. before, id)
    if queue(before) ~= queue(state) then redis.call('ZREM', queue(before), member) end
  end
  local name, at, to = owner .. id, int(now()), queue(state)
  if not before or queue(before) ~= to then
    redis.call('ZADD', to, at, member)
    account(principal, member, to)
  end
  if not before then
    count(principal)
    live(P .. 'accounts', keep)
  else
    liveshare('', shareof('', principal), keep)
  end
  if before and queue(before) == IDLE and to ~= IDLE then redis.call('ZREM', paused, id) end
  for _, key in ipairs(keys) do live(key, keep) end
  for _, key in ipairs({to, P .. 'a:' .. principal}) do live(key, keep) end
  livebytes('', keep)
  local contents, talk = {P .. 't:' .. name, P .. 'l:' .. name, P .. 'j:' .. name, P .. 'p:' .. name}, P .. 'v:' .. owner .. context
  if tonumber(state) >= 5 then
    for _, key in ipairs(contents) do redis.call('PEXPIRE', key, endedkeep) end
    if redis.call('ZCARD', paused) == 0 then fade(talk, endedkeep) end
  elseif live(contents[1], keep) then
    for _, key in ipairs({contents[2], contents[3], contents[4], talk}) do redis.call('PEXPIRE', key, keep) end
  else
    live(talk, keep)
  end
end
