-- Answers content and state of at most ARGV[2] open push configurations, in the order of generations, after generation ARGV[1].
local answer = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'q:open', '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])) do
  local k, id = pushkey(member)
  local fields = redis.call('HMGET', k, 'c' .. id, 's' .. id)
  if fields[1] then
    answer[#answer + 1] = fields[1]
    answer[#answer + 1] = fields[2]
  else
    removepush(member)
  end
end
return answer
