-- Answers the place of the last message, and then the messages. They stay in the inbox until the next call confirms the
-- place, so after a lost answer the next call answers the same messages. A large message is answered alone. Messages that are
-- too old are removed: their senders no longer wait, and a restored server may have messages that were received before.
local me, had = ARGV[1], ARGV[4]
local box, mark, answer, bytes = P .. 'b:' .. me, P .. 'g:' .. me, {''}, 0
redis.call('XTRIM', box, 'MINID', int(now() - ARGV[6]))
local given = redis.call('GET', mark)
if given and given == had then
  redis.call('XTRIM', box, 'MINID', given)
  redis.call('XDEL', box, given)
  redis.call('UNLINK', mark)
  given = nil
end
-- A place whose messages are gone would hide all later messages until it expires.
if given and #redis.call('XRANGE', box, '-', given, 'COUNT', 1) == 0 then
  redis.call('UNLINK', mark)
  given = nil
end
local from = '-'
for _ = 1, tonumber(ARGV[2]) do
  local entry = redis.call('XRANGE', box, from, given or '+', 'COUNT', 1)[1]
  if not entry or bytes > 0 and bytes + #entry[2][2] > tonumber(ARGV[3]) then break end
  bytes, from = bytes + #entry[2][2], '(' .. entry[1]
  answer[1], answer[#answer + 1] = entry[1], entry[2][2]
end
if #answer > 1 and not given then redis.call('SET', mark, answer[1], 'PX', ARGV[5]) end
return answer
