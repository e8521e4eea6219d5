-- The answer is a size in bytes if the conversation has more than ARGV[5] bytes.
local principal, name, keep, endedkeep = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local v, own, member = P .. 'v:' .. name, P .. 'r:' .. principal, principal .. name
local talk = redis.call('HMGET', v, 'head', 'tail', 'bytes')
if not talk[1] then return {} end
if tonumber(talk[3] or 0) > tonumber(ARGV[5]) then return tonumber(talk[3]) end
for _, key in ipairs({P .. 'q:talks', own}) do redis.call('ZADD', key, int(now()), member) end
redis.call('ZADD', P .. 'talkers', redis.call('ZCARD', own), principal)
for _, key in ipairs({P .. 'q:talks', own, P .. 'talkers'}) do live(key, keep) end
if redis.call('PTTL', v) < endedkeep then redis.call('PEXPIRE', v, endedkeep) end
livebytes('talk', keep)
liveshare('talk', shareof('talk', principal), keep)
local messages = {}
for i = talk[1] + 1, talk[2] do messages[#messages + 1] = redis.call('HGET', v, i) end
return messages
