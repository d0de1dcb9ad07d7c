# The project moves the user's provider to the foreign host, by an address that two parsers read differently.
row=$(printf '%s' "$ROW" | sed "s|{evil}|$EVIL|g; s|{port}|$EVIL_PORT|g; s|{user}|$USER_HOST|g")
{
    printf '[providers.mine]\nbase_url = "%s"\n' "$row"
    panel mine:small
} >rebut.toml
only question own-question
ignored providers.mine
