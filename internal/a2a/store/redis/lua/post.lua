-- Answers the place of the message; 1: the replica has no lease, 2: the inbox is full.
local to, box = ARGV[1], P .. 'b:' .. ARGV[1]
if redis.call('EXISTS', P .. 'm:' .. to) == 0 then return 1 end
local n = redis.call('XLEN', box)
if n >= tonumber(ARGV[3]) or (n + 1) * #ARGV[2] > tonumber(ARGV[5]) then return 2 end
local place = redis.call('XADD', box, '*', 'm', ARGV[2])
redis.call('PEXPIRE', box, ARGV[4])
redis.call('PUBLISH', box, '')
return place
