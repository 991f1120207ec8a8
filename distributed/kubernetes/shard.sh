#!/bin/sh
# Fits an experiment file on Kubernetes, from wherever kubectl is. Each pass over the rows is an Indexed Job with an index
# for each shard (fit.yaml), and a Job behind it that ends the pass (finish.yaml).
#
#   sh shard.sh EXPERIMENT SHARDS STORE [JOB]
#   sh shard.sh adult.yaml 64 s3://bucket/adult
#
# The rows are on the volume bochner-data (data.yaml), and data.train says where: /data/... STORE is a URL, or a folder of
# that volume, of this job alone; the model is STORE/model.bochner in the end. JOB is what names of Jobs begin with, the
# name of the file when left out.
#
# Who calls this again with the same arguments goes on where it was: Jobs that are complete are not done again, those that
# have failed are. A shard is tried four times; whoever does one again writes the same bytes.
#
#   IMAGE     of bochner, built from the Containerfile; bochner when not set
#   PARALLEL  shards at once; all when not set
#   NAMESPACE of all this; that of the context when not set
set -eu

if [ $# -lt 3 ]; then
	sed -n 's/^#   \(sh shard.sh EXPERIMENT.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
experiment=$1 shards=$2 store=${3%/} job=${4:-}
if [ -z "$job" ]; then
	job=$(basename "$experiment")
	job=$(printf %s "${job%.*}" | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9' -)
fi
if [ -n "${NAMESPACE:-}" ]; then
	kubectl() { command kubectl --namespace "$NAMESPACE" "$@"; }
fi

# filled FILE: a manifest with its values.
filled() {
	sed -e "s|\${job}|$job|g" -e "s|\${file}|$(basename "$experiment")|g" -e "s|\${pass}|$pass|g" -e "s|\${shards}|$shards|g" -e "s|\${parallel}|${PARALLEL:-$shards}|g" \
		-e "s|\${store}|$store|g" -e "s|\${from}|$from|g" -e "s|\${image}|${IMAGE:-bochner}|g" "$here/$1"
}

# ended NAME: Complete or Failed, nothing while the Job runs, None where there is none.
ended() {
	kubectl get job "$1" --ignore-not-found -o 'jsonpath={.metadata.name}:{range .status.conditions[?(@.status=="True")]}{.type} {end}' >"$scratch/ended"
	case $(cat "$scratch/ended") in
	"") echo None ;;
	*:*"Complete "*) echo Complete ;;
	*:*"Failed "*) echo Failed ;;
	esac
}

# done_by STEP: one Job, from the manifest STEP.yaml, until it has ended.
done_by() {
	name=$job-$1-$pass
	if [ "$(ended "$name")" = Failed ]; then
		kubectl delete job "$name" --wait >&2
	fi
	if [ "$(ended "$name")" = None ]; then
		filled "$1.yaml" | kubectl apply -f - >&2
	fi
	while :; do
		case $(ended "$name") in
		Complete) return ;;
		Failed)
			kubectl get job "$name" -o 'jsonpath={.metadata.name} has failed: {.status.conditions[?(@.type=="Failed")].message}; shards that failed: {.status.failedIndexes}{"\n"}' >&2
			kubectl logs --tail=20 --prefix --selector="batch.kubernetes.io/job-name=$name" >&2 || true
			return 1
			;;
		None)
			echo "$name was deleted" >&2
			return 1
			;;
		esac
		sleep "${POLL:-5}"
	done
}

# said: what finish has printed.
said() {
	pod=$(kubectl get pods --selector="batch.kubernetes.io/job-name=$job-finish-$pass" --field-selector=status.phase=Succeeded -o name)
	kubectl logs "$pod"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
kubectl create configmap "$job" --from-file="$experiment" --dry-run=client -o yaml | kubectl apply -f - >&2
pass=0 from=
while :; do
	done_by fit
	done_by finish
	said >"$scratch/said"
	cat "$scratch/said"
	if grep -q '"done": true' "$scratch/said"; then
		echo "$store/model.bochner is the model" >&2
		exit
	fi
	from=$store/model.bochner pass=$((pass + 1))
done
