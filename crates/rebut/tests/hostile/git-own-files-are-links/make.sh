# A part of the repository's own folder is a link into the user's private repository, whose history would be read or written.
private_repository
repository
git add app.sh && git commit -q -m two
printf 'echo three\n' >app.sh
rm -rf ".git/$ROW"
ln -s "../../../private/repo/.git/$ROW" ".git/$ROW"
must_end 2 rebut review --diff HEAD -m mine:small --no-edit
also rebut import "$EXAMPLES/solve/journal.ndjson" --trust
also rebut code last --branch
only review hook-stop own-question
