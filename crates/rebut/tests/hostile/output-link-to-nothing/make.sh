# The file that a user has the result written to is a planted link to a file that is not there yet.
repository
ln -s ../../.bash_profile out.md
may_write out.md
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -o out.md
only own-question
