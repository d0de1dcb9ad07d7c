# What a user has written is to go into pipes that nobody reads from: rebut would wait for ever, after it was paid.
repository
mkfifo out.md debate.md
mkdir -p notes/sadd
mkfifo notes/sadd/debate-offline-risk.md
debate="rebut decide 'Offline?' -O A=Yes -O B=No -m mine:small --judges risk,value,effort"
must_end 2 "$debate" -o out.md
may_write notes
also "$debate" --question-id offline --feature-dir notes
also rebut export last -o out.md
only own-question
