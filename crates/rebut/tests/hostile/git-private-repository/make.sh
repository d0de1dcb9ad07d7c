# The clone's repository is, or reads from, a private one of the user's: the change holds what was committed there.
private_repository
printf 'echo two\n' >app.sh
head=$(git -C "$HOME/private/repo" rev-parse HEAD)
case "$ROW" in
file) printf 'gitdir: ../../private/repo/.git\n' >.git ;;
link) ln -s ../../private/repo/.git .git ;;
common)
    git init -q .
    rm -rf .git/objects .git/refs .git/config
    printf '../../../private/repo/.git\n' >.git/commondir
    ;;
alternates)
    git init -q .
    printf '../../../../private/repo/.git/objects\n' >.git/objects/info/alternates
    printf '%s\n' "$head" >.git/HEAD
    ;;
objects)
    git init -q .
    rm -rf .git/objects
    ln -s ../../../private/repo/.git/objects .git/objects
    printf '%s\n' "$head" >.git/HEAD
    ;;
refs)
    git init -q .
    rm -rf .git/refs .git/objects .git/HEAD
    ln -s ../../../private/repo/.git/refs .git/refs
    ln -s ../../../private/repo/.git/objects .git/objects
    ln -s ../../../private/repo/.git/HEAD .git/HEAD
    ;;
esac
only review hook-stop own-question
also rebut review --diff HEAD -m mine:small
