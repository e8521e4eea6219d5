-- Answers the entries of the journal of a task; nil without such a task. If they have more than ARGV[2] bytes, it answers their number of
-- bytes in place of them.
local t = P .. 't:' .. ARGV[1]
if redis.call('EXISTS', t) == 0 then return nil end
local size = tonumber(redis.call('HGET', t, 'journal')) or 0
if size > tonumber(ARGV[2]) then return size end
local answer = {}
for _, entry in ipairs(redis.call('XRANGE', P .. 'j:' .. ARGV[1], '-', '+')) do answer[#answer + 1] = entry[2][2] end
return answer
