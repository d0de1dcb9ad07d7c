# The user keeps debates in the clone, and a pull puts files of the author's beside them: a log that replaces the database, keys of a server.
repository
HOME="$HOME" "$REBUT" --data debates import "$EXAMPLES/decide/journal.ndjson" --trust >/dev/null
by_its_author elsewhere keys add author --owner author
mv elsewhere/server.keys debates/server.keys
rm -rf elsewhere
printf 'a log' >debates/rebut.db-wal
git add -f debates/server.keys debates/rebut.db-wal
git commit -q -m debates
must_end 2 rebut --data debates ls
must_end 2 rebut --data debates keys ls
must_end 2 rebut --data debates resume last
must_end 2 rebut --data debates serve --listen 127.0.0.1:0
must_end 2 rebut --data debates trust --yes
only own-question
