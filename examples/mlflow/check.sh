#!/bin/sh
# Logs runs to MLflow's own server by log.py and reads them back with MLflow's client: values and files must be those of
# result.json and of the directory of the run.
#
#   sh examples/mlflow/check.sh [folder for the Python environment and the outputs]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)

if [ ! -x "$work/env/bin/mlflow" ]; then
	python3 -m venv "$work/env"
	"$work/env/bin/pip" install --quiet --no-compile 'mlflow==3.*'
fi
(cd "$here" && go build -o "$work/bochner" ../../cmd/bochner)
cd "$work"
rm -rf server runs && mkdir server
port=$(env/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export MLFLOW_TRACKING_URI=http://127.0.0.1:$port
export MLFLOW_DISABLE_TELEMETRY=true DO_NOT_TRACK=true MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false
(cd server && exec ../env/bin/mlflow server --host 127.0.0.1 --port "$port" --workers 1 \
	--backend-store-uri "sqlite:///$work/server/runs.db" --artifacts-destination "$work/server/files") >server.log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
tries=0
until env/bin/python -c "import urllib.request; urllib.request.urlopen('$MLFLOW_TRACKING_URI/health')" 2>/dev/null; do
	sleep 0.5 && tries=$((tries + 1))
	[ $tries -lt 120 ] || { tail server.log >&2; echo "mlflow: the server does not start" >&2; exit 1; }
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
./bochner -q run iris.yaml
./bochner -q auto iris.yaml --candidates 2 -o runs/auto
id() { env/bin/python "$here/log.py" "$1" 2>>log | tail -1; }
env/bin/python "$here/readback.py" runs/iris "$(id runs/iris)" runs/auto "$(id runs/auto)"
