# The folder of agents, or the one above it, is a link to a folder of the home.
repository
if [ "$ROW" = agents ]; then
    mkdir .claude
    ln -s ../../../private .claude/agents
else
    mkdir -p "$HOME/private/agents"
    cp "$HOME/private/diary.md" "$HOME/private/agents/diary.md"
    ln -s ../../private .claude
fi
panel mine:small diary >rebut.toml
only roles question own-question serve
