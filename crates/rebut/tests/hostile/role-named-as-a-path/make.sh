# The project's panel names a role by a path that leads out of the folder of roles.
repository
mkdir -p .rebut/roles
panel mine:small "$ROW" >rebut.toml
only roles question own-question
