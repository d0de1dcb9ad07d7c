# The project chooses where the lessons of all debates are sent.
repository
printf '[solve]\nembeddings = "evil:e"\n[providers.evil]\nbase_url = "http://%s/v1"\n' "$EVIL" >rebut.toml
also rebut solve "'Add two numbers'" --lang python -m mine:small --estimate
ignored solve.embeddings providers.evil
