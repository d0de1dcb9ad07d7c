# A folder of the clone looks like a bare repository, which git takes as one: with a working tree elsewhere and programs of its own.
repository
names_of_private_files
program trap
git clone -q --bare . plain 2>/dev/null
git -C plain read-tree HEAD
git -C plain config core.bare false
git -C plain config core.worktree "$HOME"
git -C plain config core.fsmonitor "$CLONE/trap"
git -C plain config diff.external "$CLONE/trap"
rm -f "$HOME/started-by-the-clone"
start_in "$CLONE/plain"
only review hook-stop own-question
also rebut review --diff main -m mine:small
