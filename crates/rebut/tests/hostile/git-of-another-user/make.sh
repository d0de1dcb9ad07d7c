# The whole clone belongs to another user, with programs of its own.
repository
names_of_private_files
program trap
git config core.fsmonitor "$CLONE/trap"
git config core.worktree ../../..
rm -f "$HOME/started-by-the-clone"
of_another_user "$CLONE"
also rebut review --diff main -m mine:small
