#!/bin/sh
# Fits an experiment on a Spark cluster of one master and two workers, which are processes here, kills an executor in
# the middle of it, and compares the model with that of the verbs without Spark: they have to be the same file.
#
#   sh distributed/spark/check.sh [FOLDER [quick]]
#
# FOLDER is for the Python environment and the results. quick leaves out large data and fits of several passes.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
here=$root/distributed/spark

if [ ! -x "$work/env/bin/spark-submit" ]; then
	python3 -m venv "$work/env"
	"$work/env/bin/pip" install --quiet pyspark==4.* 'pandas<3' pyarrow
fi
go build -C "$root/distributed" -o "$work/bochner" ./cmd/bochner # it reads Arrow
spark=$("$work/env/bin/python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
export SPARK_HOME="$spark" SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON="$work/env/bin/python" SPARK_NO_DAEMONIZE=1
port=$("$work/env/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

"$spark/bin/spark-class" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0 >"$work/master.log" 2>&1 &
pids=$!
trap 'kill $pids 2>/dev/null || true' EXIT
for k in 1 2; do
	"$spark/bin/spark-class" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --webui-port 0 --cores 1 --memory 1g \
		--work-dir "$work/worker$k" "spark://127.0.0.1:$port" >"$work/worker$k.log" 2>&1 &
	pids="$pids $!"
done

# Rows of a program, and where they lie beside the checkout those of kddcup99.
cd "$work"
cp "$here"/*.yaml .
"$work/env/bin/python" "$here/rows.py" "$work"
data=$root/../shared/data/kddcup99/kddcup.data_10_percent.gz
if [ -f "$data" ]; then
	gzip -dc "$data" >kdd.csv
fi

# The command as tasks call it. Shard 3 of pass 1 waits when it is first asked for, until its executor has been killed.
cat >"$work/waiting" <<'END'
#!/bin/sh
case "$*" in
*"--shard 3/"*pass-1/*)
	if [ -n "${BOCHNER_WAIT:-}" ] && mkdir "$BOCHNER_WAIT/reached" 2>/dev/null; then
		echo $$ >"$BOCHNER_WAIT/pid.new" && mv "$BOCHNER_WAIT/pid.new" "$BOCHNER_WAIT/pid"
		sleep 120
	fi ;;
esac
exec "$(dirname "$0")/bochner" "$@"
END
chmod +x "$work/waiting"

# verbs SPEC SHARDS MODEL: the job without Spark.
verbs() {
	states=$work/verbs && rm -rf "$states" && mkdir "$states" && from=
	while :; do
		shard=0
		while [ $shard -lt "$2" ]; do
			"$work/bochner" -q shard fit "$1" --shard $shard/"$2" $from -o "$states/$shard.state"
			shard=$((shard + 1))
		done
		"$work/bochner" -q --json shard finish "$states"/*.state -o "$3" >"$states/said"
		if grep -q '"done": true' "$states/said"; then return; fi
		from="--from $3" && rm "$states"/*.state
	done
}

# submit ARGUMENTS: the job with Spark.
submit() {
	"$spark/bin/spark-submit" --master "spark://127.0.0.1:$port" --conf spark.executor.cores=1 --conf spark.executor.memory=512m --conf spark.sql.files.openCostInBytes=128m \
		--conf spark.sql.files.openCostInBytes=134217728 --conf spark.executorEnv.BOCHNER_WAIT="${BOCHNER_WAIT:-}" "$here/bochner_spark.py" "$@" 2>"$work/submit.log" || {
		tail -n 40 "$work/submit.log" >&2
		return 1
	}
}

# kill_executor kills the executor whose task waits.
kill_executor() {
	tries=0
	while [ ! -f "$BOCHNER_WAIT/pid" ]; do
		sleep 0.2 && tries=$((tries + 1))
		[ $tries -lt 1500 ] || { echo "no task has come to wait" >&2; return 1; }
	done
	waits=$(cat "$BOCHNER_WAIT/pid") && at=$waits
	while ! tr '\0' ' ' <"/proc/$at/cmdline" | grep -q CoarseGrainedExecutorBackend; do
		at=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$at/status")
		[ "$at" -gt 1 ] || { echo "no executor above the task that waits" >&2; return 1; }
	done
	kill -9 "$at"
	kill -9 "$waits" 2>/dev/null || true
	echo "spark: executor $at killed in pass 1"
}

same() {
	cmp "$1" "$2" || { echo "spark: $3: another model than that of the verbs" >&2; exit 1; }
	echo "spark: $3: the model of the verbs, byte for byte, in $4 s"
}

quick=${2:-}
for name in rows kdd; do
	[ "$name$quick" = kddquick ] && continue
	[ -f "$name.csv" ] || continue
	verbs "$work/$name.yaml" 8 "$work/$name.verbs"
	export BOCHNER_WAIT="$work/wait-$name" && rm -rf "$BOCHNER_WAIT" "$work/store-$name" && mkdir "$BOCHNER_WAIT"
	began=$(date +%s)
	submit "$work/$name.yaml" --shards 8 --store "$work/store-$name" --binary "$work/waiting" -o "$work/$name.spark" >"$work/$name.said" &
	submitted=$!
	kill_executor
	wait $submitted
	same "$work/$name.verbs" "$work/$name.spark" "$name, files" $(($(date +%s) - began))
done

# Passes until convergence, and a search, each shard of which does some of the fits.
for name in logistic search; do
	[ "$quick" = quick ] && break
	verbs "$work/$name.yaml" 5 "$work/$name.verbs"
	began=$(date +%s) && rm -rf "$work/store-$name"
	submit "$work/$name.yaml" --shards 5 --store "$work/store-$name" --binary "$work/bochner" -o "$work/$name.spark" >"$work/$name.said"
	same "$work/$name.verbs" "$work/$name.spark" "$name" $(($(date +%s) - began))
done

# The partitions of a DataFrame are the shards: the verbs are given the same rows as streams of Arrow. Spark makes a
# partition of each file here, the largest one first.
states=$work/verbs from=""
while :; do
	rm -rf "$states" && mkdir "$states" && shard=0
	for file in $(ls -S "$work"/rows.parquet/*.parquet); do
		"$work/bochner" -q shard fit "$work/rows.yaml" --shard $shard/4 --data "$work/rows.arrow/$(basename "$file" .parquet).arrow" $from -o "$states/$shard.state" \
			--set data.train=- --set data.format=arrow
		shard=$((shard + 1))
	done
	"$work/bochner" -q --json shard finish "$states/*" -o "$work/frame.verbs" >"$states.said"
	if grep -q '"done": true' "$states.said"; then break; fi
	from="--from $work/frame.verbs"
done
began=$(date +%s) && rm -rf "$work/store-frame"
submit "$work/rows.yaml" --parquet "$work/rows.parquet" --store "$work/store-frame" --binary "$work/bochner" -o "$work/frame.spark" >"$work/frame.said"
same "$work/frame.verbs" "$work/frame.spark" "rows, DataFrame" $(($(date +%s) - began))
