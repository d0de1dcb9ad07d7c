# Names of files, branches and commits hold what a terminal, a diff or a command line obeys.
repository
escapes=$(printf '\033]0;owned\007\033[2J')
printf 'x\n' >"$escapes"
printf 'x\n' >"new
+++ b"
printf 'x\n' >--output=owned
printf 'x\n' >':(top)'
mkdir -p -- "-rf"
printf 'x\n' >"-rf/--no-index"
git add -A && git commit -q -m "$escapes"
for file in "$escapes" --output=owned ':(top)' "-rf/--no-index"; do
    printf 'y\n' >"./$file"
done
printf 'z\n' >"$escapes-2"
also rebut review --diff=--output=owned -m mine:small
also rebut review --diff "'HEAD:../../.bashrc'" -m mine:small
