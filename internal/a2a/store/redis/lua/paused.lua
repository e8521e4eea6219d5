-- Answers the ids of at most two tasks of a conversation that wait for their client. A task whose keys have expired is
-- taken out of the index.
local owner, paused = ARGV[1], P .. 'w:' .. ARGV[1] .. ARGV[2]
while true do
  local ids, expired = redis.call('ZRANGE', paused, 0, 1), false
  for _, id in ipairs(ids) do
    if redis.call('EXISTS', P .. 't:' .. owner .. id) == 0 then
      redis.call('ZREM', paused, id)
      expired = true
    end
  end
  if not expired then return ids end
end
