local principal, name, message, maxcount, maxbytes, keep, max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]),
  tonumber(ARGV[6]), tonumber(ARGV[7])
local v, talks, talkers = P .. 'v:' .. name, P .. 'q:talks', P .. 'talkers'

-- forget removes a conversation.
local function forget(member)
  local of, talk = member:sub(1, HASH), member:sub(HASH + 1)
  redis.call('UNLINK', P .. 'v:' .. talk)
  redis.call('ZREM', talks, member)
  redis.call('ZREM', P .. 'r:' .. of, member)
  local n = redis.call('ZCARD', P .. 'r:' .. of)
  if n > 0 then redis.call('ZADD', talkers, n, of) else redis.call('ZREM', talkers, of) end
end

-- victim returns the conversation to forget: the least recently used one of a principal with the most conversations. If the
-- least recently used of all is not of such a principal, the creating principal is preferred, and then any other.
local function victim()
  local oldest = redis.call('ZRANGE', talks, 0, 0)[1]
  local most = redis.call('ZREVRANGE', talkers, 0, 0, 'WITHSCORES')
  local n = tonumber(most[2])
  if tonumber(redis.call('ZSCORE', talkers, oldest:sub(1, HASH)) or n) >= n then return oldest end
  local of = most[1]
  if tonumber(redis.call('ZSCORE', talkers, principal)) >= n then of = principal end
  return redis.call('ZRANGE', P .. 'r:' .. of, 0, 0)[1] or oldest
end

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
-- The messages of a conversation expire before its place in the sets.
for _, old in ipairs(redis.call('ZRANGEBYSCORE', talks, '-inf', int(now() - keep), 'LIMIT', 0, 100)) do forget(old) end
local own, member = P .. 'r:' .. principal, principal .. name
local new = redis.call('ZADD', talks, int(now()), member) == 1
redis.call('ZADD', own, int(now()), member)
redis.call('ZADD', talkers, redis.call('ZCARD', own), principal)
for _, key in ipairs({v, talks, own, talkers}) do live(key, keep) end
while new and redis.call('ZCARD', talks) > max do forget(victim()) end
return 0
