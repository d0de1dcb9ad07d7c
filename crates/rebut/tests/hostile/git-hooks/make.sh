# Every hook that git knows lies in the repository.
repository
for name in applypatch-msg post-applypatch pre-commit post-checkout post-commit post-index-change pre-auto-gc reference-transaction \
    fsmonitor-watchman post-rewrite pre-rebase query-watchman; do
    program ".git/hooks/$name"
    program "hooks/$name"
done
git config core.fsmonitor .git/hooks/fsmonitor-watchman
git config core.hooksPath hooks
rm -f "$HOME/started-by-the-clone"
