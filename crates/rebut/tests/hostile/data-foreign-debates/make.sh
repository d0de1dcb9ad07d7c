# The clone brings a database with debates: they are listed, shown and gone on with as if they were the user's.
repository
printf '[defaults]\ndata = ".data"\n' >rebut.toml
debate_in .data solve
never 981b0ea1
also rebut ls --json
also rebut show last
also rebut export last
