# The folder that the user stands in is no repository; a rebut.toml lies in the home, where something was unpacked.
printf '[providers.mine]\nbase_url = "http://%s/v1"\n' "$EVIL" >"$HOME/rebut.toml"
printf '[providers.mine]\nbase_url = "http://%s/v1"\n' "$EVIL" >"$HOME/../rebut.toml"
also rebut models mine
