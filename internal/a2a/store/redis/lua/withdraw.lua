-- Takes a mail back, unless it was given out; answers how many.
local box, given = P .. 'b:' .. ARGV[1], redis.call('GET', P .. 'g:' .. ARGV[1])
if given then
  local ms, n = ARGV[2]:match('^(%d+)-(%d+)$')
  local upto, last = given:match('^(%d+)-(%d+)$')
  if tonumber(ms) < tonumber(upto) or ms == upto and tonumber(n) <= tonumber(last) then return 0 end
end
return redis.call('XDEL', box, ARGV[2])
