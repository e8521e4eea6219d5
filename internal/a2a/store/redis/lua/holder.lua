-- Answers the replica that holds a task, whether it has a lease, the turn descriptor, and whether the server has lost writes
-- since the task last began to work; nil without such a task.
local t = P .. 't:' .. ARGV[1]
local task = redis.call('HMGET', t, 'seq', 'holder', 'turn', 'member')
if not task[1] then return nil end
if not task[2] then return {'', 0, '', 0} end
local lost, busy = redis.call('GET', P .. 'rollback'), redis.call('ZSCORE', P .. 'q:busy', task[4])
-- A lost write may have begun the turn of a message that waits for a paused task.
if not busy and redis.call('HEXISTS', t, 'waiting') == 1 then busy = redis.call('ZSCORE', IDLE, task[4]) end
return {task[2], redis.call('EXISTS', P .. 'm:' .. task[2]), task[3], lost and busy and tonumber(busy) <= tonumber(lost) and 1 or 0}
