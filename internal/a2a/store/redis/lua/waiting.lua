-- Answers the number and the text of each waiting message of a task.
local t, answer = P .. 't:' .. ARGV[1], {}
for _, number in ipairs(waiting(t)) do
  answer[#answer + 1], answer[#answer + 2] = number, redis.call('HGET', t, 'w' .. number)
end
return answer
