-- Ends the claim ARGV[2] on the message ARGV[1], unless a turn of one of the further tasks has begun with it. Answers 1 then.
for i = 3, #ARGV do
  local packed = redis.call('HGET', P .. 't:' .. ARGV[i], 'claims')
  local claims = packed and cmsgpack.unpack(packed) or {}
  for j = 1, #claims, 2 do
    if claims[j] == ARGV[1] and claims[j + 1] == ARGV[2] then return 1 end
  end
end
unclaim({ARGV[1], ARGV[2]})
return 0
