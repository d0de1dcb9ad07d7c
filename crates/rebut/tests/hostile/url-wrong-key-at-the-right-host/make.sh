# The project has the user's own provider asked with another of the user's keys.
repository
{
    printf '[providers.mine]\nkey_env = "AWS_SECRET_ACCESS_KEY"\n'
    panel mine:small
} >rebut.toml
ignored providers.mine
