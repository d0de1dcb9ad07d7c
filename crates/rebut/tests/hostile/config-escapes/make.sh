# Names in the project's settings hold what a terminal obeys, or a second line that says something else.
repository
cat >rebut.toml <<'END'
[defaults]
panel = "their\u001b[2J\n"
[[panels."their\u001b[2J\n".members]]
role = "risk"
name = "x\u001b]0;owned\u0007\nall is well"
stance = "\u202eneutral\u001b[31m"
model = "mine:small\u001b[2J"
[providers."evil\u001b[2J\nnothing is ignored"]
base_url = "http://127.0.0.1:1/\u001b[2J"
[clis."evil\u001b[2J\nnothing is ignored"]
command = "/bin/\u001b[2J"
[solve.hooks]
post-proposal = ["\u001b[2J"]
END
may_refuse
also rebut trust "</dev/null"
also rebut trust --list
also rebut config validate
