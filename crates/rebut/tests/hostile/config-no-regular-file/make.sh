# The project's rebut.toml is a pipe, a folder, a device, or larger than the memory of the machine.
repository
case "$ROW" in
pipe) mkfifo rebut.toml ;;
folder) mkdir rebut.toml ;;
huge) truncate -s 100G rebut.toml 2>/dev/null || not_here "this file system has no files with holes" ;;
device)
    [ "$(id -u)" = 0 ] || not_here "only root can make a device"
    mknod rebut.toml c 1 5 2>/dev/null || not_here "this machine lets nobody make a device"
    ;;
esac
may_refuse
only ls question own-question review hook-prompt serve
