# Submodules lie outside the clone, have programs of their own, or are fetched from the foreign host.
repository
private_repository
git init -q sub
(cd sub && printf 'x\n' >x && git add x && git commit -q -m sub)
program sub/trap
git -C sub config core.fsmonitor "$CLONE/sub/trap"
git -C sub config core.worktree ../../../../private
printf '[submodule "sub"]\n\tpath = sub\n\turl = http://%s/sub.git\n\tupdate = !%s/sub/trap\n' "$EVIL" "$CLONE" >.gitmodules
printf '[submodule "up"]\n\tpath = ../../private/repo\n\turl = ../../private/repo\n' >>.gitmodules
git add .gitmodules sub 2>/dev/null
git commit -q -m sub
git config submodule.recurse true
git config diff.submodule diff
git config diff.ignoreSubmodules none
git config status.submoduleSummary true
printf 'echo three\n' >app.sh
rm -f "$HOME/started-by-the-clone"
