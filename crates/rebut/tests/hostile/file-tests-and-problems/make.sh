# Tests, problems, questions and ballots that a user names are links to private files.
repository
ln -s ../../private/diary.md tests.py
ln -s ../../private/problems.jsonl problems.jsonl
ln -s ../../private/question.md question.md
ln -s ../../private/diary.md prompt.md
also rebut solve "'Add two numbers'" --lang python --tests tests.py -m mine:small --dry-run
also rebut solve --problem "'problems.jsonl#1'" -m mine:small --dry-run
also rebut decide --from question.md -m mine:small
also rebut review prompt.md -m mine:small
also rebut prompt.md -m mine:small
only own-question
