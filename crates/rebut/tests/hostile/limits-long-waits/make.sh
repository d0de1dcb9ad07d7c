# The project makes everything wait and every debate long, so that a command never comes to its end.
repository
cat >rebut.toml <<'END'
[decide]
max_rounds = 1000000
timeout_per_judge = 1000000000
[defaults]
calls_per_provider = 0
[providers.mine.allowance]
calls_per_minute = 0
concurrency = 0
END
may_refuse
only ls question own-question hook-prompt
