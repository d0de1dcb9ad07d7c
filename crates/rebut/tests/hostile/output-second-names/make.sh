# What rebut adds to or locks is a second name of a private file, as an archive that is unpacked in the home may leave one.
repository
case "$ROW" in
claim)
    mkdir debates
    ln "$HOME/private/diary.md" debates/.001-claimed
    may_write debates
    also rebut challenge "'We should move to the cloud.'" -m rehearsal
    ;;
audit)
    mkdir feature
    printf '# Plan\n\nWe do it.\n' >plan.md
    ln "$HOME/private/diary.md" feature/audit.ndjson
    may_write feature
    also rebut review plan.md --write feature -m rehearsal
    ;;
bench)
    cp "$EXAMPLES/bench/problems.jsonl" .
    mkdir kept
    : >"$HOME/private/empty"
    ln "$HOME/private/empty" kept/results.ndjson
    may_write kept
    also "PATH=/usr/local/bin:/usr/bin:/bin rebut bench human_eval problems.jsonl --arm oracle --first 1 --out kept"
    ;;
esac
only own-question
