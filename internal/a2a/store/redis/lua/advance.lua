-- Stores the cursor ARGV[5] of a push configuration and ARGV[10] or, without a cursor, makes ARGV[8] the replica that delivers the
-- configuration. Answers 0: stored, 1: the generation no longer exists, or a replica other than ARGV[4] delivers it.
local name, id, generation, replica, acked, expires, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local principal, through = ARGV[9], ARGV[10]
local state = redis.call('HGET', P .. 'p:' .. name, 's' .. id)
if not state then return 1 end
local was, ackedwas, throughwas, expireswas, of = state:match('^(%d+) (%d+)%-?(%d*) (%d*) (.*)$')
if was ~= generation or of ~= replica then return 1 end
if acked == '' then
  filepush(principal, name, id, generation, ackedwas, throughwas, expireswas, ARGV[8], keep)
else
  filepush(principal, name, id, generation, acked, through, expires, replica, keep)
end
return 0
