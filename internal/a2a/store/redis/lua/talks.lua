-- The part that the scripts of conversations share. forget removes a conversation. Its member in the sets is its principal and its name.
local function forget(member)
  local of, talk = member:sub(1, HASH), member:sub(HASH + 1)
  redis.call('UNLINK', P .. 'v:' .. talk)
  redis.call('ZREM', P .. 'q:talks', member)
  redis.call('ZREM', P .. 'r:' .. of, member)
  charge('talk', member, of, 0)
  local n = redis.call('ZCARD', P .. 'r:' .. of)
  if n > 0 then redis.call('ZADD', P .. 'talkers', n, of) else redis.call('ZREM', P .. 'talkers', of) end
end
