# A role is a device from which bytes come without end.
[ "$(id -u)" = 0 ] || not_here "only root can make a device"
repository
mkdir -p .rebut/roles
mknod .rebut/roles/helper.md c 1 5 2>/dev/null || not_here "this machine lets nobody make a device"
panel mine:small helper >rebut.toml
may_refuse
