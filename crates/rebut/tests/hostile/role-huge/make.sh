# A role is larger than the memory of the machine.
repository
mkdir -p .rebut/roles
truncate -s 100G .rebut/roles/helper.md 2>/dev/null || not_here "this file system has no files with holes"
panel mine:small helper >rebut.toml
may_refuse
only roles question own-question
