# Journals of the attacker's have names that users type for their own debates.
repository
for name in last LAST 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
    cp "$EXAMPLES/decide/journal.ndjson" "$name"
done
never "field app"
never eb3aa3e6
also rebut replay last
also rebut replay LAST
also rebut audit verify last
also rebut replay e
also rebut audit verify 7
only own-question
