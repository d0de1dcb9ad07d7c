# The project takes the user's patterns of files that are never sent away.
repository
printf '%s\n' "$CANARY_DENIED" >customers.csv
mkdir docs
printf '%s\n' "$CANARY_DENIED" >docs/customers.md
printf 'Plain.\n' >docs/plain.md
printf '[context]\n%s\n' "$ROW" >rebut.toml
only own-question review hook-stop
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -c docs
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -c docs/customers.md
