# The folder that a user keeps the results of a bench in is a planted link, or its file is one, or a pipe that nobody writes to.
repository
cp "$EXAMPLES/bench/problems.jsonl" .
mkdir kept
case "$ROW" in
file) ln -s ../../../.bashrc kept/results.ndjson ;;
line) printf 'canary without an end' >"$HOME/private/token" && ln -s ../../../private/token kept/results.ndjson ;;
nothing) ln -s ../../../.config/autostart.ndjson kept/results.ndjson ;;
folder) rmdir kept && ln -s ../../.config kept ;;
pipe) mkfifo kept/results.ndjson ;;
esac
also "PATH=/usr/local/bin:/usr/bin:/bin rebut bench human_eval problems.jsonl --arm oracle --first 1 --out kept"
also "PATH=/usr/local/bin:/usr/bin:/bin rebut bench human_eval problems.jsonl --arm oracle --first 1 --out kept/deep"
[ "$ROW" = folder ] || may_write kept/deep
also rebut bench recorded kept/results.ndjson
only own-question
