# An owner file in the project's own data folder names a branch of another repository: cleaning up deletes that branch.
repository
private_repository
tip=$(git -C "$HOME/private/repo" rev-parse precious)
printf '[defaults]\ndata = ".data"\n' >rebut.toml
mkdir -p .data/worktrees
printf '{"repository":"../../private/repo/.git","branch":"precious","base":"%s","tip":"%s"}' "$tip" "$tip" \
    >.data/worktrees/981b0ea1-161b-4a30-8267-930360b2f0b2.owner
ignored defaults.data
