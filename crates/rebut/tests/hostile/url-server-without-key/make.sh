# The project declares servers without a key: looking for models, and `doctor`, ask them.
repository
{
    for name in ollama lmstudio llamacpp vllm local; do
        printf '[providers.%s]\nbase_url = "http://%s/v1"\nauto_model = "x"\n' "$name" "$EVIL"
    done
    panel ollama:x
} >rebut.toml
also rebut
also rebut models local
also rebut doctor --deep
ignored providers.local providers.ollama
