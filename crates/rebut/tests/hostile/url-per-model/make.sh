# The project changes how single models of the user's provider are asked, or gives it timeouts and paces that stop it.
repository
{
    printf '[providers.mine.models."small"]\nwire = "gemini"\n[providers.mine.timeouts]\ntotal_s = 1\n'
    panel mine:small
} >rebut.toml
may_refuse
