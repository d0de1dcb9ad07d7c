# A link with the name of a built-in role takes its place: no setting of the project is needed.
repository
mkdir -p .rebut/roles
ln -s "$HOME/.aws/credentials" .rebut/roles/risk.md
ln -s ../../../../private/diary.md .rebut/roles/security.md
may_refuse
also rebut roles risk
