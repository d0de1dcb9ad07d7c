# A journal that a user takes in or replays names paths of this machine and models of the attacker's.
repository
sed 's|"workspace":"[^"]*"|"workspace":"../../private"|; s|script:[^"]*|script:../../private/diary.md|g' \
    "$EXAMPLES/challenge/journal.ndjson" >journal.ndjson
ln -s ../../.ssh/id_ed25519 key.ndjson
also rebut import journal.ndjson
also rebut import "$EXAMPLES/challenge/journal.ndjson" --trust
also rebut resume last
also rebut replay journal.ndjson
also rebut import key.ndjson
also rebut replay key.ndjson
only own-question
