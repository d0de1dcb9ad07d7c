# The rebut.toml of the folder itself belongs to another user, who may change it at any time.
repository
mkdir -p .rebut/roles
printf '[decide]\nmax_rounds = 7\n' >rebut.toml
printf -- '---\nstance: neutral\nabout: planted-by-another-user\n---\nplanted-by-another-user\n' >.rebut/roles/risk.md
# Known to git, so that a change does not hold them.
git add -A && git commit -q -m settings
printf 'echo three\n' >app.sh
never planted-by-another-user
never "max_rounds = 7"
of_another_user rebut.toml .rebut
