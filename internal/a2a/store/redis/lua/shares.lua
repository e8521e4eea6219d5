-- The part that the scripts share that add bytes to a task. A principal uses a part of the maximum number of tasks and a part of the maximum bytes, and
-- the larger of the two counts. So does a share, which is that of a namespace or, for a principal without a namespace, of this principal alone.
local COMPARED = 64

-- reserve evicts tasks until a principal of a share may store a number of tasks and of bytes more, and reports whether it may. It never
-- evicts the task spare.
local function reserve(principal, share, tasks, bytes, spare, max, maxbytes)
  if share == '' then share = false end

  -- first returns the task of a principal to evict first; nil if a turn runs in each of its tasks.
  local function first(of)
    for _, task in ipairs(redis.call('ZRANGEBYSCORE', P .. 'a:' .. of, '-inf', '(+inf', 'LIMIT', 0, spare and 2 or 1)) do
      if task ~= spare then return task end
    end
  end

  -- oldest returns the task that ended first or, if none has ended, the one that has waited for its client for the longest time.
  local function oldest()
    for _, queue in ipairs({'q:ended', 'q:idle'}) do
      for _, task in ipairs(redis.call('ZRANGE', P .. queue, 0, spare and 1 or 0)) do
        if task ~= spare then return task end
      end
    end
  end

  -- The stored number of tasks is too high if the key of the tasks has expired.
  local function partof(each) return math.max(count(each) / max, bytesof('', each) / maxbytes) end
  local function partofshare(each) return math.max(score('shares', each) / max, score('shareweights', each) / maxbytes) end

  -- largest returns a task of the largest user and its part. It considers old, the 64 users with the most tasks and the 64 with the most bytes.
  -- part returns the part of a user, nil to pass it, and taskof a task to evict. Users with less than least are passed, and of equal ones the first counts.
  local function largest(old, lists, least, part, taskof, task, most)
    local function consider(each)
      local of = part(each)
      if not of or of < least or of <= most then return end
      local found = taskof(each)
      if found then task, most = found, of end
    end
    if old then consider(old) end
    for _, list in ipairs(lists) do
      for i = 0, COMPARED - 1 do
        local each = redis.call('ZREVRANGE', P .. list[1], i, i, 'WITHSCORES')
        if not each[1] or each[2] / list[2] <= most or each[2] / list[2] < least then break end
        consider(each[1])
      end
    end
    return task, most
  end

  -- victim returns the task to evict; nil for none. It chooses the share with the largest part, and in this share the principal with the largest
  -- part. It never chooses a share with a smaller part than that of the reserving principal would have, with own bytes and ownshare of the share,
  -- nor a smaller principal of the same share. Of equal ones, it chooses the task that ended first.
  local function victim(own, ownshare, onlyown)
    local old = oldest()
    if not old then return nil end
    local _, _, of = parts(old)
    -- A task is not counted if the key of its principal has expired.
    if of ~= principal and tasksof(of) == 0 then return old end
    local least = math.max((tasksof(principal) + tasks) / max, own / maxbytes)
    local leastofshare = least
    if share then leastofshare = math.max((score('shares', share) + tasks) / max, ownshare / maxbytes) end
    local function firstof(each) return each == of and old or first(each) end
    local function inshare(each)
      local ofold = shareof('', of) == each and of or nil
      local leastin = each == share and least or 0
      local function part(p) return p == principal and each == share and least or partof(p) end
      return (largest(ofold, {{'n:' .. each, max}, {'b:' .. each, maxbytes}}, leastin, part, firstof, nil, 0))
    end
    if onlyown then return share and inshare(share) or first(principal) end
    local function part(p)
      if p == principal then return not share and least or nil end
      return not shareof('', p) and partof(p) or nil
    end
    local function shared(each) return each == share and leastofshare or partofshare(each) end
    local task, most = nil, 0
    local ofshare = shareof('', of)
    if ofshare then task, most = largest(ofshare, {}, leastofshare, shared, inshare, task, most) end
    task, most = largest(not ofshare and of or nil, {{'accounts', max}, {'weights', maxbytes}}, leastofshare, part, firstof, task, most)
    task = largest(nil, {{'shares', max}, {'shareweights', maxbytes}}, leastofshare, shared, inshare, task, most)
    return task or share and inshare(share) or first(principal)
  end

  local own, all, n = bytesof('', principal) + bytes, total('') + bytes, 0
  local ownshare = own
  if share then ownshare = score('shareweights', share) + bytes end
  if tasks > 0 then
    n = redis.call('ZCARD', P .. 'q:ended') + redis.call('ZCARD', P .. 'q:idle') + redis.call('ZCARD', P .. 'q:busy') + tasks
  end
  while n > max or ownshare > maxbytes / 4 * 3 or all > maxbytes do
    local task = victim(own, ownshare, ownshare > maxbytes / 4 * 3)
    if not task then return false end
    local _, _, by = parts(task)
    local isown = share and shareof('', by) == share or by == principal
    local of, freed = remove(task)
    n, all = n - 1, all - freed
    if of == principal then own = own - freed end
    if isown then ownshare = ownshare - freed end
  end
  return true
end

-- further returns the bytes of a task besides its log: its fold, its turn descriptor and its waiting messages.
local function further(t)
  local bytes = redis.call('HSTRLEN', t, 'fold') + redis.call('HSTRLEN', t, 'turn')
  for _, number in ipairs(waiting(t)) do bytes = bytes + redis.call('HSTRLEN', t, 'w' .. number) end
  return bytes
end
