-- Answers the entries of the journal of a task; nil without such a task.
if redis.call('EXISTS', P .. 't:' .. ARGV[1]) == 0 then return nil end
local answer = {}
for _, entry in ipairs(redis.call('XRANGE', P .. 'j:' .. ARGV[1], '-', '+')) do answer[#answer + 1] = entry[2][2] end
return answer
