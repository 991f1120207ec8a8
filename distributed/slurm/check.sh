#!/bin/sh
# Fits an experiment on a real Slurm of one node, begins a part again in the middle as Slurm does when its node dies, and
# compares the model with that of the verbs without Slurm: they have to be the same file. It needs root, slurmctld, slurmd
# and munged (Debian: slurm-wlm, munge), and leaves nothing outside of its folder.
#
#   sh distributed/slurm/check.sh [folder for what is made]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
PATH=$PATH:/usr/sbin:/sbin
node=$(hostname -s)
export SLURM_CONF="$work/slurm.conf"
ports=$(python3 -c 'import socket
sockets = [socket.socket() for _ in range(2)]
[s.bind(("127.0.0.1", 0)) for s in sockets]
print(*[s.getsockname()[1] for s in sockets])')

mkdir -p "$work/state" "$work/spool" "$work/munge"
cat >"$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
chmod 700 "$work/munge"
[ -s "$work/munge/key" ] || head -c 128 /dev/urandom >"$work/munge/key"
chmod 600 "$work/munge/key"
munged --foreground --force --socket="$work/munge/socket" --key-file="$work/munge/key" --pid-file="$work/munge/pid" \
	--log-file="$work/munge/log" --seed-file="$work/munge/seed" >/dev/null 2>&1 &
pids=$!
trap 'kill $pids 2>/dev/null || true; wait' EXIT
sleep 1
slurmctld -D >"$work/slurmctld.log" 2>&1 &
pids="$! $pids"
slurmd -D >"$work/slurmd.log" 2>&1 &
pids="$! $pids"

# wait_for COMMAND: it succeeds, within some minutes.
wait_for() {
	tries=0
	until "$@"; do
		sleep 0.2 && tries=$((tries + 1))
		[ $tries -lt 1500 ] || { echo "slurm: waited in vain for: $*" >&2; tail -n 20 "$work"/*.log "$work"/*/logs/*.log >&2; exit 1; }
	done
}
idle() { sinfo -h -o %T 2>/dev/null | grep -q idle; }
wait_for idle

(cd "$root" && go build -o "$work/bochner" ./cmd/bochner)
cd "$work"
awk 'BEGIN {
	srand(1); print "a,b,colour,y"; split("red green blue", colours, " ")
	for (i = 0; i < 70000; i++) {
		a = rand(); b = rand(); k = int(3 * rand()) + 1
		printf "%.6f,%.6f,%s,%.6f\n", a, b, colours[k], sin(6 * a * b) + k + rand() / 10
	}
}' >rows.csv
cp "$root/distributed/spark/rows.yaml" .

# The command as jobs call it. Shard 1 of pass 1 waits when it is first asked for, until it has been begun again.
cat >waiting <<'END'
#!/bin/sh
here=$(dirname "$0")
case "$*" in
*"--shard 1/"*pass-1/*)
	if mkdir "$here/reached" 2>/dev/null; then
		echo "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" >"$here/task.new" && mv "$here/task.new" "$here/task"
		sleep 600
	fi ;;
esac
exec "$here/bochner" "$@"
END
chmod +x waiting

rm -rf alone job reached task
set --
while :; do
	for shard in 0 1 2 3; do
		./bochner -q shard fit rows.yaml --shard $shard/4 "$@" -o alone/$shard.state
	done
	./bochner -q --json shard finish "alone/*" -o alone.bochner >alone.json
	if grep -q '"done": true' alone.json; then break; fi
	set -- --from alone.bochner && rm -rf alone
done

began=$(date +%s)
BOCHNER="$work/waiting" sh "$root/distributed/slurm/shard.sh" rows.yaml 4 job model.bochner
wait_for [ -e task ]
scontrol requeue "$(cat task)"
held() { squeue -h -t PD -j "$(cat task)" -o %r | grep -q BeginTime; }
wait_for held
scontrol update "JobId=$(cat task)" StartTime=now # Slurm would wait for two minutes
echo "slurm: task $(cat task) begun again in pass 1"
finished() { grep -qs '"done": true' job/pass-*.json; }
wait_for finished
cmp alone.bochner model.bochner || { echo "slurm: another model than that of the verbs" >&2; exit 1; }
echo "slurm: the model of the verbs, byte for byte, in $(($(date +%s) - began)) s"
