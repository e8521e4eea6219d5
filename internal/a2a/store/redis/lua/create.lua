-- Answers 0: created, 1: the task exists, 2: no room, 3: the creating replica has no lease, or lost its claim.
local owner, context, id = ARGV[1], ARGV[2], ARGV[3]
local seq, token, events, state, place = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local retention, max, keep, me, turn = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15], ARGV[16]
local principal, maxbytes, endedkeep, share = ARGV[19], tonumber(ARGV[20]), tonumber(ARGV[21]), ARGV[22]
local t, l, member = P .. 't:' .. owner .. id, P .. 'l:' .. owner .. id, owner .. context .. principal .. id

mendshare('', share)
expire(retention)
if redis.call('EXISTS', t) == 1 then
  if redis.call('HGET', t, 'created') == token then return 0 end
  return 1
end
if me ~= '' and redis.call('EXISTS', P .. 'm:' .. me) == 0 then return 3 end
-- A replica that hung and has a lease again may have lost its claim on the message: another replica runs the turn.
if ARGV[17] ~= '' and redis.call('GET', P .. 'k:' .. ARGV[17]) ~= ARGV[18] then return 3 end
local held = tonumber(state) < 5
local further = held and #turn or 0
local bytes = counted(#events + further)
if not reserve(principal, share, 1, bytes, nil, max, maxbytes) then return 2 end
redis.call('UNLINK', l, P .. 'j:' .. owner .. id)
redis.call('XADD', l, seq .. '-0', 'e', events)
redis.call('HSET', t, 'created', token, 'last', lastappend(seq, token), 'seq', seq, 'low', 1, 'bytes', #events, 'at', 0,
  'state', state, 'member', member, 'owner', ARGV[9], 'context', ARGV[10], 'dialect', ARGV[11], 'ended', endedat(state),
  'further', further, 'charge', bytes)
charge('', member, principal, bytes, keep)
file(member, nil, state, place, keep, endedkeep)
usesshare('', principal, share, keep)
if ARGV[17] ~= '' then redis.call('HSET', t, 'claims', cmsgpack.pack({ARGV[17], ARGV[18]})) end
if held then hold(owner .. id, '', me, turn, keep) end
return 0
