-- The part that the scripts of token counts share. ARGV[1] is the account of a caller, and ARGV[2] the maximum number of
-- callers with their own count. TOTAL is the account of all callers, and SHARED the account of the callers above the maximum.
local U, N, TOTAL, SHARED = P .. 'u:ends', P .. 'u:tokens', '*', '+'

-- left returns the milliseconds until the window of an account ends, 0 if none runs.
local function left(account)
  local ends = redis.call('ZSCORE', U, account)
  return ends and math.max(tonumber(ends) - now(), 0) or 0
end

-- own returns the account that counts the tokens of the caller.
local function own()
  if left(ARGV[1]) > 0 or redis.call('ZCOUNT', U, int(now() + 1), '+inf') < tonumber(ARGV[2]) then return ARGV[1] end
  return SHARED
end
