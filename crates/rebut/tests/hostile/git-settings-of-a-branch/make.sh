# Settings that hold on the branch of a debate alone have programs run, once rebut is on it.
repository
git add app.sh && git commit -q -m two
program trap
printf '[core]\n\tfsmonitor = %s/trap\n\thooksPath = %s\n[filter "own"]\n\tsmudge = %s/trap\n\tclean = %s/trap\n' \
    "$CLONE" "$CLONE" "$CLONE" "$CLONE" >.git/extra
printf '* filter=own\n' >.gitattributes
git add .gitattributes && git commit -q -m attributes
git config "includeIf.onbranch:$ROW.path" extra
rm -f "$HOME/started-by-the-clone"
may_write .git
also rebut import "$EXAMPLES/solve/journal.ndjson" --trust
must_end 2 rebut code last --branch
only review own-question
