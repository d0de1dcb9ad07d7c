# The project adds headers to what goes to the user's provider: another account, another tenant, another host.
{
    printf '[providers.mine.headers]\n%s\n' "$ROW"
    panel mine:small
} >rebut.toml
never planted-by-the-project
only question own-question
ignored providers.mine
