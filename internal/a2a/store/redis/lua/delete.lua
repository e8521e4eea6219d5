removepush(pushname(ARGV[3], ARGV[1], ARGV[2]))
return 0
