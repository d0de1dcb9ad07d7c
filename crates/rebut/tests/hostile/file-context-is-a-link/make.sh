# What a user gives as context is itself a link out of the clone, or below one.
repository
ln -s ../../private docs
mkdir notes
ln -s ../../../private/diary.md notes/readme.md
ln -s ../../../.aws/credentials notes/plain.md
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -c "$ROW"
also rebut solve "'Add two numbers'" --lang python -m mine:small -c "$ROW" --dry-run
also rebut review "$ROW" -m mine:small
only own-question
