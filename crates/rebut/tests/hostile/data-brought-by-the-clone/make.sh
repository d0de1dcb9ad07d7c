# The clone brings a data folder with debates, a webhook and a server's key of its author, and the user names it with --data.
repository
by_its_author served import "$EXAMPLES/solve/journal.ndjson" --trust
by_its_author served webhooks add https://collect.example/ --event debate.completed
by_its_author served keys add author --owner author
served="rebut --data served"
must_end 2 $served resume last
must_end 2 $served serve --listen 127.0.0.1:0
must_end 2 $served ls
must_end 2 rebut --data "$CLONE/served" webhooks ls
must_end 2 "cd .git && rebut --data ../served keys ls"
must_end 2 "REBUT_DATA=served rebut decide 'Offline?' -O A=Yes -O B=No -m mine:small"
must_end 2 rebut --data nothing/../served keys ls
must_end 2 "cd .git && rebut --data \"\$PWD/../served\" keys ls"
only own-question
