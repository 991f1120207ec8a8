#!/bin/sh
# Exports a small model of every step and kind, and compares what ONNX Runtime, NumPy and a Go program make of 1,000 rows
# with what Bochner predicts; prints the differences by model.
#
#   sh graph/check/check.sh FOLDER
#
# FOLDER/env is a Python environment with onnx, onnxruntime and numpy:
#   python3 -m venv FOLDER/env && FOLDER/env/bin/pip install onnx onnxruntime numpy
set -eu
cd "$(dirname "$0")/../.."
folder=$(mkdir -p "$1" && cd "$1" && pwd)

go run ./graph/check "$folder/models"
(cd "$folder/models/go" && GOFLAGS=-mod=mod GOWORK=off go vet ./... && GOFLAGS=-mod=mod GOWORK=off go build -o check .)
"$folder/env/bin/python" graph/check/check.py "$folder/models"
