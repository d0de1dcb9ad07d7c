# The folder that a user has results written into is there already, with links to the user's files in it.
repository
mkdir -p out feature/sadd
for name in audit.ndjson app.merged.sh app.merged.md app.diff result.json; do
    ln -s ../../../.bashrc "out/$name"
done
for name in risk value effort; do
    ln -s ../../../../.bashrc "feature/sadd/debate-offline-$name.md"
done
may_write out
may_write feature
also rebut review app.sh -m mine:small --write out
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small --feature-dir feature
only own-question
