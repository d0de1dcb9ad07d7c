# The folder of roles is a link to a folder of the home.
repository
mkdir .rebut
ln -s ../../../private .rebut/roles
panel mine:small diary >rebut.toml
also rebut roles diary
