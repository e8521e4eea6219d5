-- Removes a message from an inbox, unless it was received; answers the number of removed messages.
local box, given = P .. 'b:' .. ARGV[1], redis.call('GET', P .. 'g:' .. ARGV[1])
if given then
  local ms, n = ARGV[2]:match('^(%d+)-(%d+)$')
  local upto, last = given:match('^(%d+)-(%d+)$')
  if tonumber(ms) < tonumber(upto) or ms == upto and tonumber(n) <= tonumber(last) then return 0 end
end
return redis.call('XDEL', box, ARGV[2])
