unclaim({ARGV[1], ARGV[2]})
return 0
