-- Answers the replica that holds a task, whether it has a lease, the turn descriptor, and whether the server has lost
-- writes since the task began to work; nil without such a task.
local task = redis.call('HMGET', P .. 't:' .. ARGV[1], 'seq', 'holder', 'turn', 'member')
if not task[1] then return nil end
if not task[2] then return {'', 0, '', 0} end
local lost, busy = redis.call('GET', P .. 'rollback'), redis.call('ZSCORE', P .. 'q:busy', task[4])
return {task[2], redis.call('EXISTS', P .. 'm:' .. task[2]), task[3], lost and busy and tonumber(busy) <= tonumber(lost) and 1 or 0}
