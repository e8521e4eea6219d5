local v, talks = P .. 'v:' .. ARGV[1], P .. 'q:talks'
local talk = redis.call('HMGET', v, 'head', 'tail')
if not talk[1] then return {} end
redis.call('ZADD', talks, int(now()), ARGV[1])
for _, key in ipairs({v, talks}) do live(key, tonumber(ARGV[2])) end
local messages = {}
for i = talk[1] + 1, talk[2] do messages[#messages + 1] = redis.call('HGET', v, i) end
return messages
