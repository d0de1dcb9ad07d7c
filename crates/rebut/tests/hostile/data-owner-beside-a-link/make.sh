# Owner files stand beside links that lead out of the data folder, or are called `.`: cleaning up follows them.
repository
private_repository
printf '[defaults]\ndata = ".data"\n' >rebut.toml
mkdir -p .data/worktrees
for name in link .; do
    printf '{"repository":"../../private/repo/.git","branch":"x","base":"0","tip":"0"}' >".data/worktrees/$name.owner"
done
ln -s ../../../../private .data/worktrees/link
ln -s ../../../../.bashrc .data/worktrees/file
printf '{"repository":"/nonexistent","branch":"x","base":"0","tip":"0"}' >.data/worktrees/file.owner
