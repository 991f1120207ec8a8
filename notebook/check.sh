#!/bin/sh
# Builds both kernels, executes every notebook of examples/notebooks in each from its first cell to its
# last, and fails on the first cell with an error. What is stored is left as it is.
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
(cd "$root/notebook/show" && go vet . && go test .)
(cd "$root/notebook/gonb" && GOBIN="$work/bin" go install tool)
PATH="$work/bin:$work/env/bin:$PATH"
JUPYTER_DATA_DIR="$work/env/share/jupyter" gonb --install 2>"$work/gonb.log" || { cat "$work/gonb.log" >&2; exit 1; }

# GoNB reads the repository by paths relative to the notebook.
cd "$root/examples/notebooks"
for kernel in bochner gonb; do
	began=$(date +%s)
	for notebook in *.ipynb; do
		start=$(date +%s)
		executed="$work/$kernel/$notebook"
		jupyter nbconvert --log-level ERROR --to notebook --execute --ExecutePreprocessor.kernel_name=$kernel \
			--output-dir "$work/$kernel" "$notebook" 2>"$work/$kernel.log" || { cat "$work/$kernel.log" >&2; exit 1; }
		# A cell of GoNB that panics or exits with a failure is no error to nbconvert.
		if grep -q '"exit status [0-9]' "$executed"; then
			echo "$notebook: a cell failed; see $executed" >&2
			exit 1
		fi
		# Neither is a picture that was not shown.
		shown=$(grep -c '"\(image/png\|image/svg+xml\|text/html\)": ' "$executed" || true)
		stored=$(grep -c '"\(image/png\|image/svg+xml\|text/html\)": ' "$notebook" || true)
		if [ "$shown" -ne "$stored" ]; then
			echo "$notebook: $shown pictures shown, $stored stored; see $executed" >&2
			exit 1
		fi
		echo "$kernel: $notebook: $(($(date +%s) - start)) s from start to last cell, $shown pictures"
	done
	echo "$kernel: all notebooks in $(($(date +%s) - began)) s"
done
