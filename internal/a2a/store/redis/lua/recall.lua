local principal, name, keep, endedkeep = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local v, own, member = P .. 'v:' .. name, P .. 'r:' .. principal, principal .. name
local talk = redis.call('HMGET', v, 'head', 'tail')
if not talk[1] then return {} end
for _, key in ipairs({P .. 'q:talks', own}) do redis.call('ZADD', key, int(now()), member) end
redis.call('ZADD', P .. 'talkers', redis.call('ZCARD', own), principal)
for _, key in ipairs({P .. 'q:talks', own, P .. 'talkers'}) do live(key, keep) end
if redis.call('PTTL', v) < endedkeep then redis.call('PEXPIRE', v, endedkeep) end
livebytes('talk', keep)
local messages = {}
for i = talk[1] + 1, talk[2] do messages[#messages + 1] = redis.call('HGET', v, i) end
return messages
