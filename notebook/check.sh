#!/bin/sh
# Builds both kernels, executes every notebook of examples/notebooks from its first cell to its last,
# and fails on the first cell with an error. What is stored is left as it is.
#
#   sh notebook/check.sh [folder for the Python environment and the results]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work/bin"
work=$(cd "$work" && pwd)

if [ ! -x "$work/env/bin/jupyter" ]; then
	python3 -m venv "$work/env"
	"$work/env/bin/pip" install --quiet nbconvert==7.* nbclient jupyter-client ipykernel
fi
(cd "$root/notebook" && go vet ./... && go test ./... && go run ./install -prefix "$work/env")
(cd "$root/notebook/gonb" && GOBIN="$work/bin" go install tool)
PATH="$work/bin:$work/env/bin:$PATH"
JUPYTER_DATA_DIR="$work/env/share/jupyter" gonb --install

# GoNB reads the repository by paths relative to the notebook.
cd "$root/examples/notebooks"
for notebook in *.ipynb; do
	start=$(date +%s)
	jupyter nbconvert --log-level WARN --to notebook --execute --output-dir "$work/executed" "$notebook"
	# A cell of GoNB that panics or exits with a failure is no error to nbconvert.
	if grep -q '"exit status [0-9]' "$work/executed/$notebook"; then
		echo "$notebook: a cell failed; see $work/executed/$notebook" >&2
		exit 1
	fi
	echo "$notebook: $(($(date +%s) - start)) s from start to last cell"
done
