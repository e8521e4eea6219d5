local principal, name, message, maxcount, maxbytes, keep, max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]),
  tonumber(ARGV[6]), tonumber(ARGV[7])
local maxbytesofall, task, endedkeep, share = tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10]), ARGV[11]
local v, talks, talkers = P .. 'v:' .. name, P .. 'q:talks', P .. 'talkers'

-- partof returns the part of the maximum number or of the maximum bytes of conversations that a principal uses, whichever is larger, and
-- partofshare that of a share, or of a principal without one.
local function partof(of) return math.max(score('talkers', of) / max, bytesof('talk', of) / maxbytesofall) end

local function partofshare(of, share)
  if not share then return partof(of) end
  return math.max(score('talkshares', share) / max, score('talkshareweights', share) / maxbytesofall)
end

-- ofshare returns the conversation to forget of a share: the least recently used one of a principal with the largest part. It compares 16 principals
-- with the most conversations, and 16 with the most bytes.
local function ofshare(share)
  local found, most, used
  for _, key in ipairs({'talkn:', 'talkb:'}) do
    for _, each in ipairs(redis.call('ZREVRANGE', P .. key .. share, 0, 15)) do
      local part, first = partof(each), redis.call('ZRANGE', P .. 'r:' .. each, 0, 0, 'WITHSCORES')
      if first[1] and (not most or part > most or part == most and tonumber(first[2]) < used) then
        found, most, used = first[1], part, tonumber(first[2])
      end
    end
  end
  return found
end

-- victim returns the conversation to forget: the least recently used one of a principal with the largest part, in the share with the largest part; nil
-- for none. If the least recently used of all is not of such a share, that of the creating principal is preferred, and then any other.
local function victim()
  local oldest = redis.call('ZRANGE', talks, 0, 0)[1]
  if not oldest then return nil end
  local of, ofs, most = nil, nil, 0
  local function consider(principal, share)
    local part = partofshare(principal, share)
    if part > most then of, ofs, most = principal, share, part end
  end
  for _, key in ipairs({'talkers', 'talkweights'}) do
    -- A principal with a share uses no more than the share does.
    local each = redis.call('ZREVRANGE', P .. key, 0, 0)[1]
    if each then consider(each, shareof('talk', each)) end
  end
  for _, key in ipairs({'talkshares', 'talkshareweights'}) do
    local each = redis.call('ZREVRANGE', P .. key, 0, 0)[1]
    if each then consider(nil, each) end
  end
  local owner, own = oldest:sub(1, HASH), shareof('talk', principal)
  if not of and not ofs or redis.call('ZSCORE', talkers, owner) == false or partofshare(owner, shareof('talk', owner)) >= most then
    of, ofs = owner, shareof('talk', owner)
    if not ofs then return oldest end
  elseif partofshare(principal, own) >= most then
    of, ofs = principal, own
  end
  if ofs then return ofshare(ofs) or oldest end
  return redis.call('ZRANGE', P .. 'r:' .. of, 0, 0)[1] or oldest
end

mendshare('talk', share)
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
liveshare('talk', shareof('talk', principal), keep)
if new or charged ~= tonumber(talk[4]) then
  redis.call('HSET', v, 'charge', charged)
  charge('talk', member, principal, charged, keep)
  usesshare('talk', principal, share, keep)
  while redis.call('ZCARD', talks) > max or total('talk') > maxbytesofall do
    local last = victim()
    if not last then break end
    forget(last)
  end
end
return 0
