-- The part that the scripts share that add bytes to a task. A principal uses a share of the maximum number of tasks and a share of
-- the maximum bytes, and the larger of the two counts.
local COMPARED = 64

-- reserve evicts tasks until a principal may store a number of tasks and of bytes more, and reports whether it may. It never
-- evicts the task spare.
local function reserve(principal, tasks, bytes, spare, max, maxbytes)
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

  -- victim returns the task to evict; nil for none. It chooses the principal with the largest share, and never one with a smaller
  -- share than the reserving principal would have, with own bytes. Of equal principals, it chooses the task that ended first. It
  -- compares at most 64 principals by tasks and 64 by bytes, besides the reserving one.
  local function victim(own)
    local old = oldest()
    if not old then return nil end
    local _, _, of = parts(old)
    -- A task is not counted if the key of its principal has expired.
    if of ~= principal and tasksof(of) == 0 then return old end
    local least = math.max((tasksof(principal) + tasks) / max, own / maxbytes)
    local best, most = nil, 0
    local function consider(each, task)
      local share = least
      -- The stored number of tasks is too high if the key of the tasks has expired.
      if each ~= principal then share = math.max(count(each) / max, bytesof('', each) / maxbytes) end
      if share < least or share <= most then return end
      task = task or first(each)
      if task then best, most = task, share end
    end
    consider(of, old)
    for _, list in ipairs({{'accounts', max}, {'weights', maxbytes}}) do
      for i = 0, COMPARED - 1 do
        local each = redis.call('ZREVRANGE', P .. list[1], i, i, 'WITHSCORES')
        if not each[1] or each[2] / list[2] <= most or each[2] / list[2] < least then break end
        consider(each[1])
      end
    end
    return best or first(principal)
  end

  local own, all, n = bytesof('', principal) + bytes, total('') + bytes, 0
  if tasks > 0 then
    n = redis.call('ZCARD', P .. 'q:ended') + redis.call('ZCARD', P .. 'q:idle') + redis.call('ZCARD', P .. 'q:busy') + tasks
  end
  while n > max or own > maxbytes / 4 * 3 or all > maxbytes do
    local task
    if own > maxbytes / 4 * 3 then task = first(principal) else task = victim(own) end
    if not task then return false end
    local of, freed = remove(task)
    n, all = n - 1, all - freed
    if of == principal then own = own - freed end
  end
  return true
end

-- further returns the bytes of a task besides its log: its fold, its turn descriptor and its waiting messages.
local function further(t)
  local bytes = redis.call('HSTRLEN', t, 'fold') + redis.call('HSTRLEN', t, 'turn')
  for _, number in ipairs(waiting(t)) do bytes = bytes + redis.call('HSTRLEN', t, 'w' .. number) end
  return bytes
end
