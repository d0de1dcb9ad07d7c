# The folder that a user gives as context holds links to private files and folders, pipes and devices.
repository
mkdir docs
printf 'Plain.\n' >docs/plain.md
ln -s ../../../private/diary.md docs/readme.md
ln -s ../../../private docs/sub
ln -s ../../../.ssh docs/keys
ln -s /proc/self/environ docs/environ.md
mkfifo docs/pipe.md
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -c docs
also rebut challenge "'We should move to the cloud.'" -m mine:small --no-workspace -c docs
also rebut solve "'Add two numbers'" --lang python -m mine:small -c docs --dry-run
also rebut triage "'Redis or Memcached?'" -c docs -m mine:small
only own-question
