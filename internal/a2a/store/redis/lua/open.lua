-- Answers the generation of the last of at most ARGV[2] open push configurations after generation ARGV[1], and then, in the order of generations, the content and
-- the state of each. Answers nothing if there is no such configuration.
local members = redis.call('ZRANGEBYSCORE', P .. 'q:open', '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local answer = { members[#members] }
for i = 1, #members, 2 do
  local k, id = pushkey(members[i])
  local fields = redis.call('HMGET', k, 'c' .. id, 's' .. id)
  if fields[1] then
    answer[#answer + 1] = fields[1]
    answer[#answer + 1] = fields[2] or ''
  else
    removepush(members[i])
  end
end
return answer
