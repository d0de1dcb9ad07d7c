# The project makes a dear model free, so that `--max-cost` and the user's own cap never stop anybody.
repository
printf '%s\n' "$ROW" | sed 's/; /\n/g' >rebut.toml
only own-question
# What cannot be a price at all may be refused.
case "$ROW" in *-1*) may_refuse ;; esac
must_end 2,5 rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:dear --max-cost 0.01
