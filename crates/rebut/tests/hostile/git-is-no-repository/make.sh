# What is called `.git` is no repository: a pipe, an endless file, a loop, a private file.
printf 'echo two\n' >app.sh
case "$ROW" in
pipe) mkfifo .git ;;
zero) ln -s /dev/zero .git ;;
loop) ln -s .git .git ;;
text) printf 'gitdir: ../../.ssh/id_ed25519\n' >.git ;;
key) ln -s ../../.ssh/id_ed25519 .git ;;
home) printf 'gitdir: ../..\n' >.git ;;
esac
may_refuse
only review hook-stop question
