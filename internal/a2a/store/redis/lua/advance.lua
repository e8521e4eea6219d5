-- Stores how far a configuration came or, with another replica at the end, who delivers it. Answers 0: stored, 1: that
-- generation is gone, or somebody else's.
local name, id, generation, replica, acked, expires, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local state = redis.call('HGET', P .. 'p:' .. name, 's' .. id)
if not state then return 1 end
local was, ackedwas, expireswas, of = state:match('^(%d+) (%d+) (%d*) (.*)$')
if was ~= generation or of ~= replica then return 1 end
if acked == '' then
  filepush(name, id, generation, ackedwas, expireswas, ARGV[8], keep)
else
  filepush(name, id, generation, acked, expires, replica, keep)
end
return 0
