# The project has debates kept at a PostgreSQL server of the attacker's.
repository
printf '[defaults]\ndatabase = "postgres://me:me@%s/debates"\n' "$EVIL" >rebut.toml
ignored defaults.database
