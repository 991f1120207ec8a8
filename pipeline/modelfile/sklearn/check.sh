#!/bin/sh
# Compares what pipelines of scikit-learn predict with what bochner predicts by the model files that bochner_sklearn.py makes of
# them, and reads the file in testdata as Python made it.
#
#   sh pipeline/modelfile/sklearn/check.sh [folder for the Python environment and what is made]
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work/files"
work=$(cd "$work" && pwd)

if ! "$work/env/bin/python" -c 'import sklearn, pandas' 2>/dev/null; then
	python3 -m venv "$work/env"
	"$work/env/bin/pip" install --quiet 'scikit-learn==1.9.*' pandas
fi
(cd "$root" && go build -o "$work/bochner" ./cmd/bochner)
PYTHONDONTWRITEBYTECODE=1 "$work/env/bin/python" "$root/pipeline/modelfile/sklearn/check.py" "$work/bochner" "$root" "$work/files"
