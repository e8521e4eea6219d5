-- Takes mail out of a box. What is large comes alone.
local box, mail, bytes = P .. 'b:' .. ARGV[1], {}, 0
for _ = 1, tonumber(ARGV[2]) do
  local entry = redis.call('XRANGE', box, '-', '+', 'COUNT', 1)[1]
  if not entry or bytes > 0 and bytes + #entry[2][2] > tonumber(ARGV[3]) then break end
  bytes = bytes + #entry[2][2]
  mail[#mail + 1] = entry[2][2]
  redis.call('XDEL', box, entry[1])
end
return mail
