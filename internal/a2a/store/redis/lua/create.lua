-- Answers 0: created, 1: the task exists, 2: no room.
local owner, context, id = ARGV[1], ARGV[2], ARGV[3]
local seq, token, events, state, place = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local retention, max, keep, me, turn = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15], ARGV[16]
local principal = ARGV[19]
local t, l, member = P .. 't:' .. owner .. id, P .. 'l:' .. owner .. id, owner .. context .. principal .. id

-- first returns the task of a principal to evict first; nil if a turn runs in each of its tasks.
local function first(of) return redis.call('ZRANGEBYSCORE', P .. 'a:' .. of, '-inf', '(+inf', 'LIMIT', 0, 1)[1] end

-- victim returns the task to evict to make room for a task of the principal; nil for none. It chooses the principal with the
-- most tasks, and never one with fewer tasks than the creating principal would have. Of equal principals, it chooses the task
-- that ended first. It compares at most 64 principals, besides the creating one.
local function victim()
  local least = tasksof(principal) + 1
  local oldest = redis.call('ZRANGE', P .. 'q:ended', 0, 0)[1] or redis.call('ZRANGE', P .. 'q:idle', 0, 0)[1]
  if not oldest then return nil end
  local _, _, of = parts(oldest)
  local n = of == principal and least or tasksof(of)
  local most = redis.call('ZREVRANGE', P .. 'accounts', 0, 0, 'WITHSCORES')
  -- A task is not counted if the key of its principal has expired.
  if n == 0 or n >= least and n >= tonumber(most[2] or 0) then return oldest end
  most = redis.call('ZREVRANGE', P .. 'accounts', 0, 63, 'WITHSCORES')
  for i = 1, #most, 2 do
    if tonumber(most[i + 1]) < least then break end
    -- The stored number is too high if the key of the tasks has expired.
    if count(most[i]) >= least then
      local task = first(most[i])
      if task then return task end
    end
  end
  return first(principal)
end

expire(retention)
if redis.call('EXISTS', t) == 1 then
  if redis.call('HGET', t, 'created') == token then return 0 end
  return 1
end
while redis.call('ZCARD', P .. 'q:ended') + redis.call('ZCARD', P .. 'q:idle') + redis.call('ZCARD', P .. 'q:busy') >= max do
  local task = victim()
  if not task then return 2 end
  remove(task)
end
redis.call('UNLINK', l)
redis.call('XADD', l, seq .. '-0', 'e', events)
redis.call('HSET', t, 'created', token, 'last', lastappend(seq, token), 'seq', seq, 'low', 1, 'bytes', #events, 'at', 0,
  'state', state, 'member', member, 'owner', ARGV[9], 'context', ARGV[10], 'dialect', ARGV[11], 'ended', endedat(state))
file(member, nil, state, place, keep)
if ARGV[17] ~= '' then redis.call('HSET', t, 'claims', cmsgpack.pack({ARGV[17], ARGV[18]})) end
if tonumber(state) < 5 then hold(owner .. id, '', me, turn, keep) end
return 0
