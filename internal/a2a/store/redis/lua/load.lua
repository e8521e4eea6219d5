-- Answers the state of a log, and its events after the last event that the caller has, or after the fold; nil without such a
-- task; -1 if the server has lost events that the caller has: the log is shorter, or its event with the number of the caller's
-- last event is of another append. The answer is a size in bytes if it would have more than ARGV[6] bytes.
local t, l = P .. 't:' .. ARGV[1], P .. 'l:' .. ARGV[1]
local known, retention, token, keep = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local task = redis.call('HMGET', t, 'seq', 'low', 'at', 'ended', 'member', 'context', 'dialect', 'last')
if not task[1] then return nil end
if task[4] ~= '' and tonumber(task[4]) + retention <= now() then
  remove(task[5])
  return nil
end
local seq, low = tonumber(task[1]), tonumber(task[2])
if known > seq or known >= low and appendtoken(ARGV[1], ARGV[2], task[8]) ~= token then
  rolledback(keep)
  return -1
end
local from, fold = known, ''
if known == 0 or known + 1 < low then
  from = tonumber(task[3])
  if from > 0 then fold = redis.call('HGET', t, 'fold') end
end
local most, bytes = tonumber(ARGV[6]), #fold
local answer = {task[1], task[6], task[7], int(from), fold, appendtoken(ARGV[1], task[1], task[8])}
if from < seq then
  for _, entry in ipairs(redis.call('XRANGE', l, int(from + 1), '+')) do
    answer[#answer + 1] = entry[1]
    answer[#answer + 1] = entry[2][2]
    bytes = bytes + #entry[2][2]
  end
end
if bytes > most then return bytes end
return answer
