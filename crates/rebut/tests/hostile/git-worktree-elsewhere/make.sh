# An unpacked archive whose repository says that its working tree is the home: the change holds the user's files.
repository
names_of_private_files
case "$ROW" in
config) git config core.worktree ../../.. ;;
absolute) git config core.worktree "$HOME" ;;
include)
    printf '[core]\n\tworktree = ../../..\n' >.git/more
    git config include.path more
    ;;
conditional)
    printf '[core]\n\tworktree = ../../..\n' >.git/more
    git config 'includeIf.gitdir:/**.path' more
    ;;
worktree-config)
    git config core.repositoryFormatVersion 1
    git config extensions.worktreeConfig true
    printf '[core]\n\tworktree = ../../..\n' >.git/config.worktree
    ;;
private) git config core.worktree ../../../private ;;
esac
only review hook-stop own-question
also rebut review --diff HEAD~0 -m mine:small
also rebut review --diff main -m mine:small
also rebut hook claude skill "</dev/null"
