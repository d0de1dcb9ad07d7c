# A role is a link to a link, to itself, or to what the system says of the process.
repository
mkdir -p .rebut/roles
case "$ROW" in
chain)
    ln -s inner.txt .rebut/roles/helper.md
    ln -s ../../outer .rebut/roles/inner.txt
    ln -s ../../private/diary.md outer
    ;;
folder)
    ln -s ../.. up
    ln -s ../../up/private/diary.md .rebut/roles/helper.md
    ;;
*) ln -s "$ROW" .rebut/roles/helper.md ;;
esac
panel mine:small helper >rebut.toml
only roles question own-question
