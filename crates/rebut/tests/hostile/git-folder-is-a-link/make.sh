# A folder that git knows is now a link to the home: what lies behind it is the change.
repository
mkdir docs
printf 'x\n' >docs/diary.md
printf 'x\n' >docs/new.md
git add docs && git commit -q -m docs
rm -rf docs
ln -s ../../private docs
ln -s ../../private also
ln -s ../../private/diary.md diary.md
git add diary.md
printf '!*\n' >.gitignore
only review hook-stop own-question
