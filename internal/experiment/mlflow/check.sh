#!/bin/sh
# Logs runs to MLflow's own server and reads them back with MLflow's own client: what is there has to be what result.json and
# the files of the run say. A run that is stopped has to be KILLED there, one that fails FAILED.
#
#   sh internal/experiment/mlflow/check.sh [folder for the Python environment and what is made]
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)

if [ ! -x "$work/env/bin/mlflow" ]; then
	python3 -m venv "$work/env"
	"$work/env/bin/pip" install --quiet --no-compile 'mlflow==3.*'
fi
(cd "$root" && go build -o "$work/bochner" ./cmd/bochner)
cp "$root/internal/experiment/mlflow/readback.py" "$work"
cd "$work"
rm -rf server runs && mkdir server
port=$(env/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
address=http://127.0.0.1:$port
export MLFLOW_DISABLE_TELEMETRY=true DO_NOT_TRACK=true MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false
(cd server && exec ../env/bin/mlflow server --host 127.0.0.1 --port "$port" --workers 1 \
	--backend-store-uri "sqlite:///$work/server/runs.db" --artifacts-destination "$work/server/files") >server.log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
tries=0
until env/bin/python -c "import urllib.request; urllib.request.urlopen('$address/health')" 2>/dev/null; do
	sleep 0.5 && tries=$((tries + 1))
	[ $tries -lt 120 ] || { tail server.log >&2; echo "mlflow: the server does not come up" >&2; exit 1; }
done

cat >iris.yaml <<'END'
name: iris
seed: 3
data: {dataset: iris, split: {test: 0.3, stratify: true}}
pipeline: [standardize, {rff: {features: 100}}, logistic]
search:
  grid: {rff.gamma: {log: [0.01, 1, 4]}, logistic.C: [1, 10]}
  folds: 3
output: {dir: runs/iris}
END
./bochner -q run iris.yaml --set output.mlflow="$address" 2>said
[ ! -s said ] || { cat said >&2; echo "mlflow: the run warns" >&2; exit 1; }
./bochner -q auto iris.yaml --candidates 2 -o runs/auto --mlflow "$address?experiment=found%20by%20auto"

# A run that fails, because pca needs two rows, and a run that is stopped during its search.
printf 'a,y\n1,2\n' >one.csv
printf 'name: fails\ndata: {train: one.csv, target: y, task: regression}\npipeline: [{pca: {components: 1}}, ridge]\noutput: {mlflow: "%s"}\n' "$address" >fails.yaml
if ./bochner -q run fails.yaml 2>said; then
	echo "mlflow: pca was fitted to one row" >&2
	exit 1
fi
sed -e 's/^name: .*/name: stopped/' -e 's/dataset: iris.*/dataset: adult}/' -e 's/pipeline: .*/pipeline: [{columns: [{select: numeric, steps: [standardize]}]}, {rff: {features: 4000}}, logistic]/' -e '/^output/d' iris.yaml >stopped.yaml
for try in 1 2 3; do # within a second, in which a server may not answer where much else is done
	./bochner -q run stopped.yaml --set output.mlflow="$address" 2>said &
	run=$!
	env/bin/python readback.py "$address" --begun stopped $try
	kill -INT $run
	if wait $run; then
		echo "mlflow: a run that was stopped came to its end" >&2
		exit 1
	fi
	if env/bin/python readback.py "$address" --killed stopped; then break; fi
done
env/bin/python readback.py "$address" runs/iris runs/auto
