# The file that a user has a debate's code written to is a planted link, or below one.
repository
ln -s ../../.bashrc solution.py
ln -s ../../private src
may_write solution.py
also rebut import "$EXAMPLES/solve/journal.ndjson" --trust
also rebut code last --apply
also rebut code last --apply solution.py
also rebut code last --apply solution.py --force
also rebut code last --apply src/solution.py
only own-question
