# The project changes what a server allows: whom it lets in, which models it has, where it posts.
repository
printf '[server]\nmodels = ["evil:x"]\nrequests_per_minute = 1000000\n[providers.evil]\nbase_url = "http://%s/v1"\n' "$EVIL" >rebut.toml
ignored server providers.evil
