# The files of a challenge that the user began here are links to the user's files by the time it goes on.
repository
"$REBUT" challenge "We should move to the cloud." -m rehearsal --max-calls 6 >/dev/null 2>&1 || true
dir=$(ls -d debates/001-*)
case "$ROW" in
files)
    for file in "$dir"/*.md "$dir"/*.json "$dir"/transcript.md "$dir"/result.md "$dir"/synthesis.md; do
        rm -f "$file"
        ln -s ../../../../.bashrc "$file"
    done
    ;;
reports)
    for name in transcript.md result.md synthesis.md final.md rounds/round-1.md rounds/round-2.md rounds/1.md rounds/2.md; do
        rm -f "$dir/$name"
        ln -s "$HOME/.bashrc" "$dir/$name"
    done
    ;;
rounds)
    rm -rf "$dir/rounds"
    ln -s ../../../../private "$dir/rounds"
    ;;
folder)
    mkdir "$HOME/private/001-kept"
    cp -R "$dir"/* "$HOME/private/001-kept/"
    rm -rf "$dir"
    ln -s ../../../private/001-kept "$dir"
    ;;
debates)
    cp -R "$dir" "$HOME/private/"
    rm -rf debates
    ln -s ../../private debates
    ;;
esac
may_write debates
also rebut resume last --max-calls 99
only ls
