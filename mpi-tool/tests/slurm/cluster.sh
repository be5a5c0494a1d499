#!/bin/sh
# cluster.sh N COMMAND…: runs a command on the login node of a Slurm cluster of N nodes (n1 to nN), which are processes of this
# machine. Each node has its name and its /dev/shm; all have the same other files. Wants Debian's packages slurm-wlm,
# slurm-wlm-basic-plugins and munge, for --mpi=pmix libpmix-dev as well, and root. The network is a namespace's own, so that
# nobody else sees the daemons. All ends with the command, or with SIGKILL to this script. $LOGS has what the daemons say.
set -eu

if [ -z "${SLURM_INSIDE-}" ]; then
    export SLURM_INSIDE=1
    exec unshare --net --uts --mount --propagation private --pid --fork --kill-child --mount-proc "$0" "$@"
fi

nodes=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
mkdir "$folder/munge" "$folder/state" "$folder/log"
export LOGS="$folder/log"
hostname login
ip link set lo up
# Slurm wants a host to have an address, and does not count the loopback's.
ip link add bridge type bridge
ip addr add 10.78.0.1/24 dev bridge
ip link set bridge up
mount -t tmpfs tmpfs /dev/shm

dd if=/dev/urandom of="$folder/munge/key" bs=128 count=1 status=none
chmod 400 "$folder/munge/key"
cat > "$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=login(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=26800
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
TmpFS=$folder/tmp.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=pmi2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=2
CONF
echo "127.0.0.1 localhost login" > "$folder/hosts"
node=1
while [ $node -le "$nodes" ]; do
    echo "NodeName=n$node NodeHostname=n$node NodeAddr=127.0.0.1 Port=$((26800 + node)) CPUs=4 RealMemory=2000 State=UNKNOWN"
    echo "127.0.0.1 n$node" >> "$folder/hosts"
    # Where PMIx and job steps keep theirs.
    mkdir "$folder/spool.n$node" "$folder/tmp.n$node"
    node=$((node + 1))
done >> "$folder/slurm.conf"
echo "PartitionName=all Nodes=n[1-$nodes] Default=YES OverSubscribe=YES:4 MaxTime=10:00 State=UP" >> "$folder/slurm.conf"
mount --bind "$folder/hosts" /etc/hosts
export SLURM_CONF="$folder/slurm.conf"

munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
    --log-file="$folder/log/munge" --seed-file="$folder/munge/seed" 2> "$folder/log/start"
slurmctld -c 2>> "$folder/log/start"
node=1
while [ $node -le "$nodes" ]; do
    unshare --uts --mount --propagation private sh -c \
        "hostname n$node; mount -t tmpfs tmpfs /dev/shm; exec slurmd -N n$node" 2>> "$folder/log/start"
    node=$((node + 1))
done
tries=0
while [ "$(sinfo -h -N -t idle -o %N 2> /dev/null | wc -l)" != "$nodes" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 120 ]; then
        echo "cluster.sh: the nodes do not come up" >&2
        tail -n 5 "$folder"/log/* >&2
        exit 70
    fi
    sleep 0.25
done

status=0
"$@" || status=$?
exit $status
