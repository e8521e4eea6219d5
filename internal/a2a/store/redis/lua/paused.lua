-- Answers the ids of at most two tasks of a conversation whose state is among the last arguments. The smaller of two
-- indexes bounds the cost: the tasks of the conversation, or the owner's tasks in that state.
local owner, context = ARGV[1], ARGV[2]
local ids = {}
for i = 3, #ARGV do
  for _, id in ipairs(redis.call('ZINTER', 2, P .. 'c:' .. owner .. context, P .. 's:' .. owner .. ARGV[i])) do
    if #ids < 2 and redis.call('HGET', P .. 't:' .. owner .. id, 'state') == ARGV[i] then ids[#ids + 1] = id end
  end
end
return ids
