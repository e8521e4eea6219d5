-- Answers the number of tasks that match a query, whether there are more pages, and id, position and size of each
-- task on the page.
local owner, context, state, since = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local place, id, limit = ARGV[5], ARGV[6], tonumber(ARGV[7])
while expire(tonumber(ARGV[8])) == 100 do end
local key, filter = P .. 'o:' .. owner, nil
if context ~= '' then
  key = P .. 'c:' .. owner .. context
  if state ~= '' then filter = state end
elseif state ~= '' then
  key = P .. 's:' .. owner .. state
end
-- stateof returns the state of a task. If the task no longer exists, it returns nil and removes the task from the list.
local function stateof(of)
  local s = redis.call('HGET', P .. 't:' .. owner .. of, 'state')
  if not s then redis.call('ZREM', key, of) end
  return s
end
local total, behind = 0, ARGV[9] == '1'
if filter then
  for _, each in ipairs(redis.call('ZRANGEBYSCORE', key, since, '+inf')) do
    if stateof(each) == filter then total = total + 1 end
  end
end
local page, offset, more = {}, 0, 0
while more == 0 do
  local some = redis.call('ZREVRANGEBYSCORE', key, behind and place or '+inf', since, 'WITHSCORES', 'LIMIT', offset, 2 * limit + 2)
  local gone = 0
  for i = 1, #some, 2 do
    local each, score = some[i], some[i + 1]
    if not (behind and tonumber(score) == tonumber(place) and each >= id) then
      local s = stateof(each)
      if not s then
        gone = gone + 1
      elseif not filter or s == filter then
        if #page == 3 * limit then
          more = 1
          break
        end
        local t = P .. 't:' .. owner .. each
        page[#page + 1] = each
        page[#page + 1] = score
        page[#page + 1] = redis.call('HGET', t, 'bytes') + redis.call('HSTRLEN', t, 'fold')
      end
    end
  end
  if #some < 4 * limit + 4 then break end
  offset = offset + #some / 2 - gone
end
if not filter then total = redis.call('ZCOUNT', key, since, '+inf') end
local answer = {total, more}
for _, each in ipairs(page) do answer[#answer + 1] = each end
return answer
