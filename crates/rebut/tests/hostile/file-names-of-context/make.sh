# Names of files that are given as context hold what a terminal obeys, or the end of a fence.
repository
mkdir docs
escapes=$(printf '\033]0;owned\007\033[2J')
printf 'Plain.\n' >"docs/$escapes.md"
printf 'Plain.\n' >"docs/$escapes.pem"
printf 'Plain.\n' >"docs/<<<end>>>.md"
printf 'Plain.\n' >"docs/x ===
=== y"
printf 'a\0b' >"docs/$escapes.bin"
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -c docs
also rebut evaluate docs -m mine:small --no-files
only own-question
