# The repository's settings name programs that git runs when it compares files.
repository
program trap
trap=$CLONE/trap
printf 'app.sh diff=evil filter=evil merge=evil\n*.md diff=evil filter=evil working-tree-encoding=utf-16\n' >.gitattributes
printf '*.sh filter=a=b\n' >.git/info/attributes
git config "${ROW%% *}" "$(printf '%s' "${ROW#* }" | sed "s|{trap}|$trap|g")"
rm -f "$HOME/started-by-the-clone"
only review hook-stop own-question
