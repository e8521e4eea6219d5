-- Answers the number and the text of each waiting message of a task.
local waiting = redis.call('HGET', P .. 't:' .. ARGV[1], 'waiting')
return waiting and cmsgpack.unpack(waiting) or {}
