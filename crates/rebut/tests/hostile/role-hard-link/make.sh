# A role is another name of a private file: a hard link, as an archive or another user may leave one.
repository
mkdir -p .rebut/roles
ln "$HOME/.ssh/id_ed25519" .rebut/roles/helper.md
# What is not known to git is part of a change, which is another matter.
printf '.rebut\n' >.git/info/exclude
panel mine:small helper >rebut.toml
