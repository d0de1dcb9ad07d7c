# `rebut init` meets a rebut.toml that is a link: to a file that is not there yet, or, with --force, to one that is.
repository
ln -s "$ROW" rebut.toml
may_write rebut.toml
may_refuse
also rebut init
also rebut init --force
only own-question
