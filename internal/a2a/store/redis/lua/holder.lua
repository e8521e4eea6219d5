-- Answers the replica that holds a task, whether it has a lease, and the turn descriptor; nil without such a task.
local task = redis.call('HMGET', P .. 't:' .. ARGV[1], 'seq', 'holder', 'turn')
if not task[1] then return nil end
if not task[2] then return {'', 0, ''} end
return {task[2], redis.call('EXISTS', P .. 'm:' .. task[2]), task[3]}
