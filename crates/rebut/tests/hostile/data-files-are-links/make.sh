# In a data folder that the project names, the files rebut writes are links to the user's files.
repository
printf '[defaults]\ndata = ".data"\n' >rebut.toml
mkdir .data
ln -s ../../../.ssh/id_ed25519 .data/seal.key
ln -s ../../../.bashrc .data/hook.lock
ln -s ../../../.bashrc .data/trusted.keys
ln -s ../../../.netrc .data/embeddings.json
ln -s ../../../private/new.db .data/rebut.db
ln -s ../../../private/token .data/server.token
ln -s ../../../private/keys .data/server.keys
ln -s ../../../private .data/afterwards
also rebut audit verify
also rebut keys add somebody --owner somebody
