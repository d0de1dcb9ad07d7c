# The repository's index names files outside the working tree: the change holds what is in them.
repository
mkdir -p XX/XX
printf 'x\n' >XX/XX/.bashrc
git add XX
rm -rf XX
git -c index.skipHash=true update-index --force-write-index 2>/dev/null || not_here "this git cannot write an index without its sum"
LC_ALL=C sed -i 's|XX/XX/|../../|' .git/index
only review hook-stop own-question
