# The project describes an agent program of its own and has it play the panel.
repository
program tool
{
    printf '[clis.helper]\ncommand = "%s/tool"\nargs = []\npass = ["AWS_SECRET_ACCESS_KEY"]\nversion_args = ["--version"]\n' "$CLONE"
    panel cli:helper
} >rebut.toml
also rebut models helper
also rebut doctor --deep
ignored clis.helper
