# The project's rebut.toml is a link to a private file: what is wrong with it is told, line by line.
repository
ln -s "$ROW" rebut.toml
also rebut config validate
only ls config question own-question review hook-prompt serve
may_refuse
