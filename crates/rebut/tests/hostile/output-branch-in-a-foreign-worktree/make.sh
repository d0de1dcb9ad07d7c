# A repository that has programs of its own run, and leads elsewhere, is asked for a branch with a debate's code.
repository
git add app.sh && git commit -q -m two
program trap
git config core.fsmonitor "$CLONE/trap"
git config core.hooksPath "$CLONE/hooks"
program hooks/post-checkout
program hooks/reference-transaction
program hooks/post-index-change
ln -s ../../private src
git add src && git commit -q -m link --no-verify
rm -f "$HOME/started-by-the-clone"
may_write .git
also rebut import "$EXAMPLES/solve/journal.ndjson" --trust
also rebut code last --branch
also rebut code last --branch src/diary.md
only own-question
