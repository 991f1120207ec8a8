#!/bin/sh
# Fits an experiment file on a Slurm cluster. Each pass over the rows is an array of jobs, one for each shard, and behind
# it a job that ends the pass and, where it was not the last one, submits the next.
#
#   sh shard.sh EXPERIMENT SHARDS FOLDER MODEL [flags of bochner shard fit, such as --set rff.gamma=0.1]
#   sh shard.sh adult.yaml 64 /shared/adult /shared/adult/model.bochner
#
# The experiment file and its rows lie where all nodes see them under one name, and so does FOLDER, which is of this job
# alone: logs, what finish says of each pass (pass-0.json and on), and the states, unless STORE names a URL for them.
# MODEL is a file or a URL. After the last pass it is the model.
#
# Who calls this again with the same arguments goes on where something failed: passes that have ended are not done again,
# nor parts whose state is in FOLDER. A part is tried three times before it counts as failed, and begun again by Slurm
# when its node dies; whoever does one again writes the same bytes.
#
#   BOCHNER   the command on the nodes; bochner when not set
#   STORE     s3://BUCKET/JOB, for states that do not go into FOLDER
#   FIT       flags of sbatch for the parts, such as "--partition=cpu --cpus-per-task=8 --mem=16G"
#   FINISH    the same for the jobs that end passes
#   WAIT      seconds before a second try; 10 when not set
#
# Nodes have to be allowed to submit jobs.
set -eu

bochner=${BOCHNER:-bochner}

# states PASS: where the states of a pass are.
states() { echo "${STORE:-$folder}/pass-$1"; }

# submit PASS [flags]: a pass, and the end of it.
submit() {
	pass=$1 && shift
	mkdir -p "$folder/logs"
	# shellcheck disable=SC2086 # several flags in one variable
	array=$(sbatch --parsable --requeue --open-mode=append --job-name="shard-$pass" --array="0-$((shards - 1))" \
		--output="$folder/logs/pass-$pass-%a.log" ${FIT:-} \
		"$script" fit "$pass" "$script" "$experiment" "$shards" "$folder" "$model" "$@")
	# shellcheck disable=SC2086
	finish=$(sbatch --parsable --requeue --open-mode=append --job-name="shard-$pass-finish" \
		--dependency="afterok:${array%%;*}" --kill-on-invalid-dep=yes \
		--output="$folder/logs/pass-$pass-finish.log" ${FINISH:-} \
		"$script" finish "$pass" "$script" "$experiment" "$shards" "$folder" "$model" "$@")
	echo "pass $pass: jobs ${array%%;*} and ${finish%%;*}; logs in $folder/logs"
}

# fit PASS [flags]: one shard of a pass, as a task of an array. Wrong use, exit status 2, is not tried again.
fit() {
	pass=$1 shard=$SLURM_ARRAY_TASK_ID && shift
	state=$(states "$pass")/$shard.state
	if [ -e "$state" ]; then
		echo "$state is there"
		return
	fi
	if [ "$pass" -gt 0 ]; then
		set -- --from "$model" "$@"
	fi
	tries=1
	until "$bochner" --quiet shard fit "$experiment" --shard "$shard/$shards" -o "$state" "$@"; do
		status=$?
		if [ $status -ne 1 ] || [ $tries -eq 3 ]; then
			return $status
		fi
		sleep "${WAIT:-10}"
		tries=$((tries + 1))
	done
}

# finish PASS [flags]: the end of a pass, and the next one.
finish() {
	pass=$1 && shift
	said=$folder/pass-$pass.json
	"$bochner" --quiet --json shard finish "$(states "$pass")/*" -o "$model" >"$said.new"
	mv "$said.new" "$said"
	cat "$said"
	if grep -q '"done": true' "$said"; then
		echo "$model is the model"
	else
		submit $((pass + 1)) "$@"
	fi
}

case ${1:-} in
fit | finish)
	role=$1 pass=$2 script=$3 experiment=$4 shards=$5 folder=$6 model=$7
	shift 7
	"$role" "$pass" "$@"
	exit
	;;
esac

if [ $# -lt 4 ]; then
	sed -n 's/^#   \(sh shard.sh EXPERIMENT.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
experiment=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
mkdir -p "$3"
shards=$2 folder=$(cd "$3" && pwd) model=$4
case $model in
*://* | /*) ;;
*) model=$PWD/$model ;;
esac
shift 4
pass=0
while [ -e "$folder/pass-$pass.json" ]; do
	if grep -q '"done": true' "$folder/pass-$pass.json"; then
		echo "$model is the model"
		exit
	fi
	pass=$((pass + 1))
done
submit "$pass" "$@"
