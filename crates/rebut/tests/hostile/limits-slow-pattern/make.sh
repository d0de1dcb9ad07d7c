# The project's patterns of files take for ever to be compared with a long name.
repository
name=$(printf 'a%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
mkdir docs
printf 'Plain.\n' >"docs/$name$name$name$name"
printf '[context]\ndeny = ["%s*b"]\n' '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a' >rebut.toml
only own-question review
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -c docs
