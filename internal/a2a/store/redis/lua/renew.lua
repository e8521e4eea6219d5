-- Renews the lease of a replica. The first call also ends the leases of former incarnations with the same name. It does not
-- lower their recorded ends, because a lower end means that the server has lost writes. Answers the end of the lease, whether
-- the server has lost the end that it answered last, the counted bytes of all tasks, and the tasks that the replica holds. Each call
-- also removes tasks whose retention has passed. It looks for tasks and conversations whose keys have expired, among some that count, and
-- removes them from the count and from the sets.
local me, lease, first, keep, known = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], tonumber(ARGV[5])
local replicas, at, lost = P .. 'replicas', now(), 0
if known > 0 then
  local ends = redis.call('ZSCORE', replicas, me) or redis.call('ZSCORE', P .. 'forgotten', me)
  if not ends or tonumber(ends) < known then
    rolledback(keep)
    lost = 1
  end
end
if first then
  local name = me:match('^(.*)/')
  for _, other in ipairs(redis.call('ZRANGE', replicas, 0, -1)) do
    if other ~= me and other:match('^(.*)/') == name then
      redis.call('UNLINK', P .. 'm:' .. other)
    end
  end
end
redis.call('SET', P .. 'm:' .. me, '', 'PX', lease)
redis.call('ZADD', replicas, int(at + lease), me)
redis.call('PEXPIRE', replicas, keep)
for _, member in ipairs(redis.call('HRANDFIELD', P .. 'bytes', ARGV[6])) do
  local owner, _, _, id = parts(member)
  if member ~= ALL and redis.call('EXISTS', P .. 't:' .. owner .. id) == 0 then remove(member) end
end
for _, member in ipairs(redis.call('HRANDFIELD', P .. 'talkbytes', ARGV[6])) do
  if member ~= ALL and redis.call('EXISTS', P .. 'v:' .. member:sub(HASH + 1)) == 0 then forget(member) end
end
expire(tonumber(ARGV[7]))
local answer = {int(at + lease), lost, int(total(''))}
for _, each in ipairs(redis.call('HGETALL', P .. 'h:' .. me)) do answer[#answer + 1] = each end
return answer
