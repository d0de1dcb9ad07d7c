# Programs that rebut starts lie in the clone under their usual names.
repository
for name in git claude codex gemini bwrap sh python3 rustc node ssh rebut bin/git .git/git; do
    program "$name"
done
panel cli:claude >rebut.toml
also rebut sandbox check
also rebut doctor --deep
