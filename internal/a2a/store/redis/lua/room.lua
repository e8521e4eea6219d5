-- Does nothing. A full server refuses the script, so the answer shows that the server accepts new data.
return 0
