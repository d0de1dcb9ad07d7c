# The project names the data folder, in which the worktrees lead up and an owner file is called `..`: cleaning up removes the parent folder.
repository
printf '[defaults]\ndata = ".data"\n' >rebut.toml
mkdir .data
ln -s .. .data/worktrees
printf '{"repository":"/nonexistent","branch":"x","base":"0","tip":"0"}' >...owner
ignored defaults.data
