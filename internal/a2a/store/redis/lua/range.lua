-- Answers the events of a log after event ARGV[2], as many entries as have at most ARGV[4] bytes together; nil without such a task; -1
-- if the server has lost that event. If the first entry has more bytes, it answers their number.
local t, l = P .. 't:' .. ARGV[1], P .. 'l:' .. ARGV[1]
local after, maxevents, maxbytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local task = redis.call('HMGET', t, 'seq', 'context')
if not task[1] then return nil end
if after > tonumber(task[1]) then return -1 end
local answer, bytes, from = {task[1], task[2]}, 0, after + 1
while true do
  local entry = redis.call('XRANGE', l, int(from), '+', 'COUNT', 1)[1]
  if not entry then return answer end
  local size = #entry[2][2]
  if bytes + size > maxbytes then return bytes == 0 and size or answer end
  local last = tonumber(entry[1]:match('^%d+'))
  answer[#answer + 1] = entry[1]
  answer[#answer + 1] = entry[2][2]
  bytes, from = bytes + size, last + 1
  if last - after >= maxevents then return answer end
end
