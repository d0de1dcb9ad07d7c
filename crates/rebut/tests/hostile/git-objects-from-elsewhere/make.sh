# Objects are missing, and the repository says from where they are fetched: by a program, or from the foreign host.
repository
program trap
git add app.sh && git commit -q -m two
blob=$(git rev-parse HEAD:app.sh)
rm -f ".git/objects/$(printf '%s' "$blob" | cut -c 1-2)/$(printf '%s' "$blob" | cut -c 3-)"
printf 'echo three\n' >app.sh
git config core.repositoryFormatVersion 1
git config extensions.partialClone origin
git config remote.origin.promisor true
git config remote.origin.url "$(printf '%s' "$ROW" | sed "s|{trap}|$CLONE/trap|; s|{evil}|$EVIL|")"
git config protocol.ext.allow always
rm -f "$HOME/started-by-the-clone"
only review hook-stop own-question
