# Files that git reads are pipes to which nobody ever writes: git waits for them, and whoever waits for git.
repository
case "$ROW" in
head) rm .git/HEAD .git/config && mkfifo .git/HEAD .git/config ;;
index) rm .git/index && mkfifo .git/index ;;
ignore) mkfifo .gitignore .gitattributes ;;
esac
may_refuse
only review
