-- Adds an entry to the journal of a task. Answers as append.lua: 0: added, 1: no such task, 2: the task has ended, or the journal has
-- other entries after ARGV[2], 3: another replica holds the task, 5: the server has lost entries, 6: no room.
local t, j = P .. 't:' .. ARGV[1], P .. 'j:' .. ARGV[1]
local after, entry, me = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local maxentries, maxjournal, keep = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local maxtasks, maxbytes = tonumber(ARGV[8]), tonumber(ARGV[9])
local task = redis.call('HMGET', t, 'state', 'holder', 'member', 'bytes', 'further', 'charge', 'journal',
  'entries')
if not task[1] then return 1 end
if tonumber(task[1]) >= 5 then return 2 end
if (task[2] or '') ~= me then return 3 end
local entries = tonumber(task[8]) or 0
if entries == after + 1 and redis.call('XRANGE', j, entries, entries)[1][2][2] == entry then return 0 end
if entries > after then return 2 end
if entries < after then
  rolledback(keep)
  return 5
end
local journal = (tonumber(task[7]) or 0) + #entry
if entries >= maxentries or journal > maxjournal then return 6 end
local charged, size = tonumber(task[6]) or 0, counted(task[4] + (task[5] or further(t)) + journal)
local _, _, principal = parts(task[3])
if size > charged and not reserve(principal, shareof('', principal), 0, size - charged, task[3], maxtasks, maxbytes) then return 6 end
redis.call('XADD', j, int(entries + 1) .. '-0', 'e', entry)
live(j, keep)
redis.call('HSET', t, 'journal', journal, 'entries', entries + 1, 'charge', size)
if size ~= charged then charge('', task[3], principal, size, keep) end
return 0
