-- Answers the tokens and the remaining milliseconds of the window of the caller, and those of all callers.
local answer = {}
for _, account in ipairs({own(), TOTAL}) do
  local rest = left(account)
  answer[#answer + 1] = rest > 0 and redis.call('HGET', N, account) or '0'
  answer[#answer + 1] = int(rest)
end
return answer
