# The project lets models of unknown price run and count nothing, so that `--max-cost` never stops anybody.
repository
{
    printf '[budget]\nallow_unknown_price = true\n'
    panel mine:unpriced
} >rebut.toml
only own-question
ignored budget.allow_unknown_price
must_end 2 rebut decide "'Offline?'" -O A=Yes -O B=No --max-cost 0.01
must_end 2 rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:unpriced --max-cost 0.01
