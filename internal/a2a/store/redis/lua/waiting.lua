-- Answers the number and the text of each waiting message of a task, or their size in bytes if they have more than ARGV[2] bytes.
local t, answer, bytes = P .. 't:' .. ARGV[1], {}, 0
for _, number in ipairs(waiting(t)) do
  local text = redis.call('HGET', t, 'w' .. number)
  answer[#answer + 1], answer[#answer + 2] = number, text
  bytes = bytes + #text
end
if bytes > tonumber(ARGV[2]) then return bytes end
return answer
