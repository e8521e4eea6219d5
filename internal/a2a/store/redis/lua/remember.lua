local name, message, maxcount, maxbytes, keep, max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local v, talks = P .. 'v:' .. name, P .. 'q:talks'
local talk = redis.call('HMGET', v, 'head', 'tail', 'bytes')
local head, tail, bytes = tonumber(talk[1] or 0), tonumber(talk[2] or 0) + 1, tonumber(talk[3] or 0) + #message
redis.call('HSET', v, tail, message, 'head', head, 'tail', tail, 'bytes', bytes)
local first = head
while tail > head and (tail - head > maxcount or bytes > maxbytes) do
  head = head + 1
  bytes = bytes - redis.call('HSTRLEN', v, head)
  redis.call('HDEL', v, head)
end
if head > first then redis.call('HSET', v, 'head', head, 'bytes', bytes) end
local new = redis.call('ZADD', talks, int(now()), name) == 1
for _, key in ipairs({v, talks}) do live(key, keep) end
while new and redis.call('ZCARD', talks) > max do
  redis.call('UNLINK', P .. 'v:' .. redis.call('ZPOPMIN', talks)[1])
end
return 0
