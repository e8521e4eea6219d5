local principal, name, message, maxcount, maxbytes, keep, max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]),
  tonumber(ARGV[6]), tonumber(ARGV[7])
local maxbytesofall, task, endedkeep = tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])
local v, talks, talkers = P .. 'v:' .. name, P .. 'q:talks', P .. 'talkers'

-- shareof returns the share of the maximum number or of the maximum bytes of conversations that a principal uses, whichever is
-- larger.
local function shareof(of, n) return math.max((n or 0) / max, bytesof('talk', of) / maxbytesofall) end

-- victim returns the conversation to forget: the least recently used one of a principal with the largest share; nil for none. If
-- the least recently used of all is not of such a principal, the creating principal is preferred, and then any other.
local function victim()
  local oldest = redis.call('ZRANGE', talks, 0, 0)[1]
  if not oldest then return nil end
  local of, most = nil, 0
  for _, key in ipairs({talkers, P .. 'talkweights'}) do
    local each = redis.call('ZREVRANGE', key, 0, 0)[1]
    local share = each and shareof(each, redis.call('ZSCORE', talkers, each)) or 0
    if share > most then of, most = each, share end
  end
  local owner = oldest:sub(1, HASH)
  if not of or shareof(owner, redis.call('ZSCORE', talkers, owner) or max) >= most then return oldest end
  if shareof(principal, redis.call('ZSCORE', talkers, principal)) >= most then of = principal end
  return redis.call('ZRANGE', P .. 'r:' .. of, 0, 0)[1] or oldest
end

-- The messages of a conversation expire before its place in the sets.
for _, old in ipairs(redis.call('ZRANGEBYSCORE', talks, '-inf', int(now() - keep), 'LIMIT', 0, 100)) do forget(old) end
local talk = redis.call('HMGET', v, 'head', 'tail', 'bytes', 'charge')
local head, tail, bytes = tonumber(talk[1] or 0), tonumber(talk[2] or 0) + 1, tonumber(talk[3] or 0) + #message
redis.call('HSET', v, tail, message, 'head', head, 'tail', tail, 'bytes', bytes)
local first = head
while tail > head and (tail - head > maxcount or bytes > maxbytes) do
  head = head + 1
  bytes = bytes - redis.call('HSTRLEN', v, head)
  redis.call('HDEL', v, head)
end
if head > first then redis.call('HSET', v, 'head', head, 'bytes', bytes) end
local own, member = P .. 'r:' .. principal, principal .. name
local new, charged = redis.call('ZADD', talks, int(now()), member) == 1, counted(bytes)
redis.call('ZADD', own, int(now()), member)
redis.call('ZADD', talkers, redis.call('ZCARD', own), principal)
for _, key in ipairs({talks, own, talkers}) do live(key, keep) end
local state = redis.call('HGET', P .. 't:' .. task, 'state')
if state and tonumber(state) < 5 then
  live(v, keep)
elseif redis.call('PTTL', v) < endedkeep then
  redis.call('PEXPIRE', v, endedkeep)
end
livebytes('talk', keep)
if new or charged ~= tonumber(talk[4]) then
  redis.call('HSET', v, 'charge', charged)
  charge('talk', member, principal, charged, keep)
  while redis.call('ZCARD', talks) > max or total('talk') > maxbytesofall do
    local last = victim()
    if not last then break end
    forget(last)
  end
end
return 0
