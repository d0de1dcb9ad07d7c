# The project has debates kept in a folder of the user's that is not for them.
repository
printf '[defaults]\ndata = "%s"\n' "$ROW" >rebut.toml
only ls own-question resume serve
ignored defaults.data
