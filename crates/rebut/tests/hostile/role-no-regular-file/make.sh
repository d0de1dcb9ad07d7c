# A role is a pipe that nobody writes to, a folder, or the folder of roles is a file: reading it waits for ever.
repository
mkdir .rebut
case "$ROW" in
pipe) mkdir .rebut/roles && mkfifo .rebut/roles/helper.md .rebut/roles/risk.md ;;
folder) mkdir -p .rebut/roles/helper.md ;;
file) printf 'x' >.rebut/roles ;;
roles-pipe) mkfifo .rebut/roles ;;
rebut-pipe) rmdir .rebut && mkfifo .rebut ;;
rebut-file) rmdir .rebut && printf 'x' >.rebut ;;
esac
panel mine:small helper >rebut.toml
may_refuse
only roles question own-question hook-prompt serve
