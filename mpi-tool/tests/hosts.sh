#!/bin/sh
# hosts.sh N COMMAND…: runs a command on the first of N hosts, which are network namespaces of this
# machine with names and addresses of their own, and have the same files. Needs no root where users may
# make namespaces of their own. All ends with the command.
#
# $AGENT is what the command has for ssh: AGENT [OPTION…] HOST COMMAND…. As ssh does, it takes nothing of
# the environment along but TMPDIR; what a user's shell would set there is in $LOGIN ("NAME=value …").
set -eu

if [ -z "${HOSTS_INSIDE-}" ]; then
    export HOSTS_INSIDE=1
    spaces="--net --uts --mount --pid --fork --kill-child --mount-proc"
    # Root may be forbidden namespaces of users, and needs none.
    if [ "$(id -u)" = 0 ] && ! unshare --user --map-root-user true 2>/dev/null; then
        exec unshare $spaces "$0" "$@"
    fi
    exec unshare --user --map-root-user $spaces "$0" "$@"
fi

hosts=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

name() { echo "host$1"; }

# On each host: its processes' names for it, its addresses, and nothing of the outside.
echo "127.0.0.1 localhost" > "$folder/hosts"
host=1
while [ $host -le "$hosts" ]; do
    echo "10.77.0.$host $(name $host)" >> "$folder/hosts"
    host=$((host + 1))
done
mount --bind "$folder/hosts" /etc/hosts
# Elsewhere there may be hosts of the same names, whose processes have the same numbers.
mount -t tmpfs tmpfs /dev/shm
export TMPDIR="$folder"
hostname "$(name 1)"
echo $$ > "$folder/$(name 1)"
ip link set lo up
if [ "$hosts" -gt 1 ]; then
    ip link add bridge type bridge
    ip addr add 10.77.0.1/24 dev bridge
    ip link set bridge up
fi
host=2
while [ $host -le "$hosts" ]; do
    unshare --net --uts sh -c "hostname $(name $host); echo \$\$ > $folder/new; mv $folder/new $folder/$(name $host); exec sleep 1000" &
    while [ ! -e "$folder/$(name $host)" ]; do sleep 0.01; done
    process=$(cat "$folder/$(name $host)")
    ip link add wire$host type veth peer name wire netns "$process"
    ip link set wire$host master bridge up
    nsenter --target "$process" --net sh -c "ip link set lo up; ip addr add 10.77.0.$host/24 dev wire; ip link set wire up"
    host=$((host + 1))
done

cat > "$folder/agent" <<'AGENT'
#!/bin/sh
folder=$(dirname "$0")
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
echo "$host" >> "$folder/entered"
exec nsenter --target "$(cat "$folder/$host")" --net --uts env -i HOME="$HOME" PATH="$PATH" TMPDIR="$TMPDIR" ${LOGIN-} sh -c "$*"
AGENT
chmod +x "$folder/agent"
export AGENT="$folder/agent"

status=0
"$@" || status=$?
exit $status
