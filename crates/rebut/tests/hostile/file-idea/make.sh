# An idea that a user evaluates is, or holds, links to private files.
repository
case "$ROW" in
folder) ln -s ../../private idea ;;
files)
    mkdir idea
    printf '# An idea\n\nSell ice.\n' >idea/idea.md
    ln -s ../../../private/diary.md idea/more.md
    ln -s ../../../private idea/sub
    ;;
scores)
    mkdir idea
    printf '# An idea\n\nSell ice.\n' >idea/idea.md
    ln -s ../../../.aws/credentials idea/scores.toml
    ;;
challenges)
    mkdir idea
    printf '# An idea\n\nSell ice.\n' >idea/idea.md
    ln -s ../../../private/wishes.yaml idea/challenges.yaml
    ;;
file) ln -s ../../private/diary.md idea ;;
esac
also rebut evaluate idea -m mine:small --no-files
also rebut idea -m mine:small
may_write idea
only own-question
