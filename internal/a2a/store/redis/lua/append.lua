-- Answers 0: appended, 1: no such task, 2: the log has other events after ARGV[2], 3: another replica holds the task or has begun
-- the turn of the waiting message, 4: the log has later events and no longer contains the event whose token the script compares,
-- 5: the server has lost events that the caller has read or appended, 6: no room, 7: the replica has no lease.
local t, l = P .. 't:' .. ARGV[1], P .. 'l:' .. ARGV[1]
local after, last, token, events = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local state, place, fold = ARGV[6], ARGV[7], ARGV[8]
local maxevents, maxbytes, keep = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local change, me, turn = ARGV[12], ARGV[13], ARGV[14]
local message, claim, maxclaims, lasttoken = ARGV[15], ARGV[16], tonumber(ARGV[17]), ARGV[18]
local maxtasks, maxbytesofall, endedkeep = tonumber(ARGV[19]), tonumber(ARGV[20]), tonumber(ARGV[21])
-- Only an append that changes the waiting messages has these: the number of the message to remove, or 0 and the message to add.
local removed, added = ARGV[22], ARGV[23]
local CANCELED = '7'
local task = redis.call('HMGET', t, 'seq', 'low', 'bytes', 'at', 'state', 'member', 'holder', 'claims', 'changed', 'last',
  'further', 'charge', 'journal')
if not task[1] then return 1 end
if last == after then
  if task[9] == token then return 0 end
elseif task[1] ~= after then
  if tonumber(last) < tonumber(task[2]) then return 4 end
  local entry = redis.call('XRANGE', l, last, last)[1]
  if entry and entry[2][4] == token then return 0 end
end
-- A replica that takes the task compares the token of the last append, to detect a server that has lost events and has since
-- received others. A replica that runs the task needs only the hold: no other replica appends while it has the hold.
local takes = change == 'take' or change == 'continue'
if tonumber(task[1]) < tonumber(after) or takes and task[1] == after and lasttoken ~= ''
  and appendtoken(ARGV[1], after, task[10]) ~= lasttoken then
  rolledback(keep)
  return 5
end
if task[1] ~= after or last ~= after and events == '' then return 2 end
if takes and redis.call('EXISTS', P .. 'm:' .. me) == 0 then return 7 end
-- The fence: a replica that has lost the task cannot append.
local holder = task[7] or ''
if change == 'keep' and holder ~= me then return 3 end
if change ~= '' and holder ~= '' and holder ~= me and redis.call('EXISTS', P .. 'm:' .. holder) == 1 then return 3 end
local log, charged = tonumber(task[3]), tonumber(task[12]) or 0
local _, _, principal = parts(task[6])
local ends = tonumber(state == '' and task[5] or state) >= 5
-- The journal ends with the task.
local journal = not ends and tonumber(task[13]) or 0
-- other is what further(t) returns after this append. The end of the hold removes the turn descriptor and the waiting messages.
local other
if ends or change == 'release' then
  other = fold ~= '' and #fold or redis.call('HSTRLEN', t, 'fold')
else
  other = tonumber(task[11] or further(t))
  if fold ~= '' then other = other + #fold - redis.call('HSTRLEN', t, 'fold') end
  if takes then other = other + #turn - redis.call('HSTRLEN', t, 'turn') end
  if added then other = other + #added elseif removed then other = other - redis.call('HSTRLEN', t, 'w' .. removed) end
  local by = counted(log + #events + other + journal) - charged
  -- An append that begins the turn of a message that is stored already needs no room, like the end of a task or of a hold.
  if by > 0 and (added or not removed) and not reserve(principal, shareof('', principal), 0, by, task[6], maxtasks, maxbytesofall) then return 6 end
end
if removed then
  local kept, found = {}, removed == '0'
  for _, number in ipairs(waiting(t)) do
    if number == removed then found = true else kept[#kept + 1] = number end
  end
  if not found then return 3 end
  if added then
    kept[#kept + 1] = last
    redis.call('HSET', t, 'w' .. last, added)
  else
    redis.call('HDEL', t, 'w' .. removed)
  end
  if #kept > 0 then redis.call('HSET', t, 'waiting', cmsgpack.pack(kept)) else redis.call('HDEL', t, 'waiting') end
end
if last ~= after then
  redis.call('XADD', l, last .. '-0', 'e', events, 'w', token)
  local seq, low, bytes, at = tonumber(last), tonumber(task[2]), task[3] + #events, tonumber(task[4])
  if fold ~= '' then
    at = tonumber(after)
    redis.call('HSET', t, 'fold', fold)
  end
  -- Events that the fold does not include are never trimmed.
  while low <= at and (bytes > maxbytes or seq - low >= maxevents) do
    local entry = redis.call('XRANGE', l, '-', '+', 'COUNT', 1)[1]
    local to = tonumber(entry[1]:match('^%d+'))
    if to == seq then break end
    bytes, low = bytes - #entry[2][2], to + 1
    redis.call('XDEL', l, entry[1])
  end
  log = bytes
  local size = counted(log + other + journal)
  if state == '' or state == task[5] then
    redis.call('HSET', t, 'seq', last, 'last', lastappend(last, token), 'low', low, 'bytes', bytes, 'at', at,
      'further', other, 'charge', size)
  else
    redis.call('HSET', t, 'seq', last, 'last', lastappend(last, token), 'low', low, 'bytes', bytes, 'at', at,
      'further', other, 'charge', size, 'state', state, 'ended', endedat(state))
  end
  if state ~= '' then
    file(task[6], task[5], state, place, keep, endedkeep)
  elseif maxevents == 1 then
    -- The state of a session never changes its status.
    for _, key in ipairs({t, l}) do live(key, keep) end
  end
  redis.call('PUBLISH', P .. 'e:' .. ARGV[1], last)
end
-- Continuing a task, or canceling it from any replica, ends the claims on the messages that began its turns.
local former = task[8]
if former and (change == 'continue' or change == '' and state == CANCELED) then
  unclaim(cmsgpack.unpack(former))
  redis.call('HDEL', t, 'claims')
  former = false
end
if message ~= '' then
  local all, known = former and cmsgpack.unpack(former) or {}, false
  for i = 1, #all, 2 do known = known or all[i] == message and all[i + 1] == claim end
  if not known then
    all[#all + 1], all[#all + 2] = message, claim
    while #all > 2 * maxclaims do
      table.remove(all, 1)
      table.remove(all, 1)
    end
    redis.call('HSET', t, 'claims', cmsgpack.pack(all))
  end
end
local size = counted(log + other + journal)
if last == after then redis.call('HSET', t, 'changed', token, 'further', other, 'charge', size) end
if size ~= charged then charge('', task[6], principal, size, keep) end
if ends and task[13] then
  redis.call('UNLINK', P .. 'j:' .. ARGV[1])
  redis.call('HDEL', t, 'journal', 'entries')
end
if change == 'release' or ends then
  hold(ARGV[1], holder, '', '', keep)
elseif takes then
  hold(ARGV[1], holder, me, turn, keep)
end
return 0
