# A planted debate with a note of what is left to do: its code replaces the user's shell profile on `resume last`.
repository
printf '[defaults]\ndata = ".data"\n' >rebut.toml
debate_in .data solve
mkdir -p .data/afterwards
printf '{"code":"../../.bashrc","force":true}' >.data/afterwards/981b0ea1-161b-4a30-8267-930360b2f0b2.json
also rebut resume last
also rebut resume 981b0ea1
ignored defaults.data
