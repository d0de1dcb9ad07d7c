# A planted debate with a note of files to write: a report goes over the user's notes on `resume`.
repository
printf '[defaults]\ndata = ".data"\n' >rebut.toml
debate_in .data decide
id=$(sed -n '1s/.*"debate_id":"\([^"]*\)".*/\1/p' "$EXAMPLES/decide/journal.ndjson")
mkdir -p .data/afterwards
printf '{"output":["../../private/diary.md"],"feature_dir":"../../private","write":"../neighbour"}' >".data/afterwards/$id.json"
also rebut resume last
also "rebut resume $id"
ignored defaults.data
