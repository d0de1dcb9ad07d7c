# A role's name and words hold what a terminal obeys.
repository
mkdir -p .rebut/roles .claude/agents
escapes=$(printf '\033]0;owned\007\033[2J\302\23331m')
printf -- '---\nstance: neutral\nabout: %s\n---\nHelp. %s\n' "$escapes" "$escapes" >.rebut/roles/helper.md
cp .rebut/roles/helper.md ".claude/agents/$escapes.md"
panel mine:small helper >rebut.toml
may_refuse
also rebut roles helper
