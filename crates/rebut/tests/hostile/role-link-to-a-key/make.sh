# A role of the project is a link to the user's SSH key, and stands in a prompt.
repository
mkdir -p .rebut/roles
ln -s ../../../../.ssh/id_ed25519 .rebut/roles/helper.md
panel mine:small helper >rebut.toml
also rebut roles helper
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small --judges helper,value
