# The file that a user has the result written to is a planted link to the shell's profile.
repository
for name in out.md out.json out.html out.ndjson; do
    ln -s ../../.bashrc "$name"
    may_write "$name"
done
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -o out.md -o out.json
also rebut export last -o out.html
also rebut export last -o out.ndjson
only own-question
