# The project's rebut.toml is no TOML that anybody wrote: too deep, too long, no text, full of what a terminal obeys.
repository
case "$ROW" in
deep-arrays) { printf 'x = '; head -c 200000 /dev/zero | tr '\0' '['; } >rebut.toml ;;
deep-tables) { printf '['; yes a | head -n 100000 | tr '\n' '.'; printf 'a]\n'; } >rebut.toml ;;
deep-inline) { printf 'x = '; yes '{a=' | head -n 50000 | tr -d '\n'; } >rebut.toml ;;
long) { yes '# nothing to see' | head -c 20000000; printf '[providers.mine]\nbase_url = "http://%s/v1"\n' "$EVIL"; } >rebut.toml ;;
bytes) printf '[decide]\nmax_rounds = 3\n# \377\376\n' >rebut.toml ;;
zero) printf '[decide]\nmax_\0rounds = 3\n' >rebut.toml ;;
escapes) printf '[decide]\nmax_rounds = "\033]0;owned\007\033[2J"\n' >rebut.toml ;;
escaped) printf '[decide]\n"\\u001b]0;owned\\u0007\\u001b[2J" = 3\n[panels."\\u001b[2J"]\nmembers = []\n' >rebut.toml ;;
numbers) printf '[decide]\nmax_rounds = 99999999999999999999\nthreshold = nan\n[budget]\nmax_calls = -1\n' >rebut.toml ;;
mark) printf '\357\273\277[providers.mine]\nbase_url = "http://%s/v1"\n' "$EVIL" >rebut.toml ;;
esac
may_refuse
only ls question own-question hook-prompt serve
