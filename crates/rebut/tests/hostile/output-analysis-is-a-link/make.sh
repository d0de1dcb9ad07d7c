# The idea's folder of results is a link to the home, or holds links to the user's files.
repository
mkdir idea
printf '# An idea\n\nSell ice.\n' >idea/idea.md
case "$ROW" in
folder) ln -s ../../../private idea/analysis ;;
nothing) ln -s ../../../private/new idea/analysis ;;
files)
    mkdir idea/analysis
    for name in debate.json debate.md; do
        ln -s ../../../../.bashrc "idea/analysis/$name"
    done
    may_write idea/analysis
    ;;
esac
also rebut evaluate idea -m rehearsal
only own-question
