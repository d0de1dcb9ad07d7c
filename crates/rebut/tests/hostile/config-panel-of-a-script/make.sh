# A panel of the project is played by a script: any file of the user's that it names.
repository
[ "$ROW" != pipe ] || mkfifo pipe
panel "script:$ROW" >rebut.toml
only ls question own-question serve
