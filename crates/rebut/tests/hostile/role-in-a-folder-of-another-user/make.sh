# The folders of roles belong to another user, who may change what agents are told at any time.
repository
mkdir -p .rebut/roles .claude/agents
printf -- '---\nstance: neutral\nabout: helps\n---\nplanted-by-another-user\n' >.rebut/roles/helper.md
cp .rebut/roles/helper.md .claude/agents/agent.md
git add -A && git commit -q -m roles
printf 'echo three\n' >app.sh
never planted-by-another-user
panel mine:small helper >rebut.toml
of_another_user .rebut .claude
