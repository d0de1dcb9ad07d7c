# What every make.sh may use. The harness sources this file, then make.sh, in the empty folder $CLONE.
#
#   $HOME           a home with canaries; $CLONE is $HOME/projects/clone
#   $SHARED         a folder for everybody outside the home, as /tmp is
#   $EVIL           host:port of the foreign host; it also listens at 127.0.0.1 and [::1], on $EVIL_PORT
#   $USER_PROVIDER  the base URL of the user's own model server, provider `mine`; $USER_HOST is its host:port
#   $REBUT          the program, for what an attacker makes with it
#   $EXAMPLES       the recorded examples
#   $CANARY_DENIED  what stands in files that the user's own [context] deny names
#   $ROW            the line of `rows`, where the folder has such a file
#   $NOTES          what the functions below tell the harness

set -eu

# A repository with a commit and a change that is not committed.
repository() {
    git init -q .
    printf 'echo one\n' >app.sh
    git add app.sh
    git commit -q -m one
    printf 'echo two\n' >app.sh
}

# Commits files with the names of private ones: where the working tree is elsewhere, those are the change.
names_of_private_files() {
    mkdir -p private projects/neighbour
    for name in .bashrc .gitconfig private/diary.md projects/neighbour/notes.md diary.md; do
        printf 'x\n' >"$name"
    done
    git add -A
    git commit -q -m names
    rm -rf .bashrc .gitconfig private projects diary.md
    printf 'echo three\n' >app.sh
}

# The user's own repository elsewhere in the home: a commit with a canary, and a branch.
private_repository() (
    mkdir -p "$HOME/private/repo"
    cd "$HOME/private/repo"
    git init -q .
    printf 'private %s\n' "$CANARY_REPOSITORY" >ledger.txt
    git add ledger.txt
    git commit -q -m private
    git branch precious
)

# A command that the clone's author ran elsewhere over a data folder of the clone: FOLDER ARGUMENT….
by_its_author() (
    dir=$PWD/$1
    shift
    mkdir -p "$NOTES/../author"
    cd /
    HOME="$NOTES/../author" "$REBUT" --data "$dir" "$@" >/dev/null
)

# A data folder with a debate of somebody else's: FOLDER FORMAT.
debate_in() {
    by_its_author "$1" import "$EXAMPLES/$2/journal.ndjson" --trust
}

# A panel that is used when nobody names one: MODEL [ROLE].
panel() {
    printf '[defaults]\npanel = "theirs"\n'
    for role in "${2:-risk}" value effort; do
        printf '[[panels.theirs.members]]\nrole = "%s"\nmodel = "%s"\n' "$role" "$1"
    done
}

# A program that leaves a mark in the home when it is started: FILE.
program() {
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\n(echo "$0 $*"; env) >>"%s/started-by-the-clone"\ncat\n' "$HOME" >"$1"
    chmod 755 "$1"
}

# One more command to run, as a user would type it. It may write WRITTEN (below the clone) and nothing else.
also() { printf '%s\n' "$*" >>"$NOTES/also"; }

# A file or folder below the clone that the commands of `also` are asked to write.
may_write() { printf '%s\n' "$*" >>"$NOTES/may_write"; }

# A command that must end with one of these codes: CODE,… COMMAND.
must_end() { printf '%s\n' "$*" >>"$NOTES/must_end"; }

# Only these of the usual commands are run.
only() { printf '%s\n' "$@" >>"$NOTES/only"; }

# Settings that a line on standard error must name as ignored.
ignored() { printf '%s\n' "$@" >>"$NOTES/ignored"; }

# Words that may be neither sent nor printed.
never() { printf '%s\n' "$*" >>"$NOTES/never"; }

# The project's file cannot be read at all: commands may refuse to work, and a question need not be answered.
may_refuse() { : >"$NOTES/may_refuse"; }

# The folder in which the user stands, if not the clone.
start_in() { printf '%s\n' "$1" >"$NOTES/start"; }

# This machine or user cannot make it.
not_here() {
    printf '%s\n' "$*" >"$NOTES/not_here"
    exit 0
}

# A file of another user: only root can make one.
of_another_user() {
    [ "$(id -u)" = 0 ] || not_here "only root can give a file to another user"
    chown -R -h 12345:12345 "$@"
}
