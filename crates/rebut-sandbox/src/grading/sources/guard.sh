# Before the tests: a command that judges and fails says nothing about the code, so the script ends here.
unset BASH_ENV
rebut_failed() { echo "$1 could not tell: what it was given makes no sense to it" >&2; kill -USR2 "$$"; }
[() { builtin [ "$@" && return 0; case $? in 1) return 1 ;; *) rebut_failed '['; return 2 ;; esac; }
test() { builtin test "$@" && return 0; case $? in 1) return 1 ;; *) rebut_failed test; return 2 ;; esac; }
diff() { command diff "$@" && return 0; case $? in 1) return 1 ;; *) rebut_failed diff; return 2 ;; esac; }
cmp() { command cmp "$@" && return 0; case $? in 1) return 1 ;; *) rebut_failed cmp; return 2 ;; esac; }
grep() { command grep "$@" && return 0; case $? in 1) return 1 ;; *) rebut_failed grep; return 2 ;; esac; }
egrep() { command egrep "$@" && return 0; case $? in 1) return 1 ;; *) rebut_failed egrep; return 2 ;; esac; }
fgrep() { command fgrep "$@" && return 0; case $? in 1) return 1 ;; *) rebut_failed fgrep; return 2 ;; esac; }
comm() { command comm "$@" && return 0; rebut_failed comm; return 1; }
