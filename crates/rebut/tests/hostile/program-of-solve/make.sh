# The project has commands run on code that a debate writes: tools, hooks, and settings of the sandbox.
repository
program tool
cat >rebut.toml <<END
[solve.tools]
lint = ["$CLONE/tool", "{code}"]
format = ["$CLONE/tool"]
diagnose = ["sh", "-c", "$CLONE/tool"]
[solve.hooks]
post-proposal = ["$CLONE/tool", "{code}"]
post-convergence = ["$CLONE/tool"]
END
also rebut solve "'Add two numbers'" --lang python -m mine:small --estimate
ignored solve.tools solve.hooks
