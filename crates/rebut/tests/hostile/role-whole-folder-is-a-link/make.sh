# The whole folder `.rebut` is a link to the home, which happens to have a folder `roles`.
repository
ln -s ../.. .rebut
panel mine:small wishes >rebut.toml
also rebut roles wishes
