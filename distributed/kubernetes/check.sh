#!/bin/sh
# Holds the manifests against the schemas of Kubernetes, strictly.
#
#   sh distributed/kubernetes/check.sh [folder for a Python environment]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
if [ ! -x "$work/env/bin/kubernetes-validate" ]; then
	python3 -m venv "$work/env"
	"$work/env/bin/pip" install --quiet kubernetes-validate==1.37.0
fi
for manifest in data fit finish; do
	# shellcheck disable=SC2016 # ${...} of the manifests
	sed -e 's|\${job}|adult|g; s|\${file}|adult.yaml|g; s|\${pass}|1|g; s|\${shards}|64|g; s|\${parallel}|16|g' \
		-e 's|\${store}|s3://bucket/adult|g; s|\${from}|s3://bucket/adult/model.bochner|g; s|\${image}|bochner|g' \
		"$here/$manifest.yaml" >"$work/$manifest.yaml"
	# shellcheck disable=SC2016
	if sed 's/#.*//' "$work/$manifest.yaml" | grep -n '\${'; then
		echo "kubernetes: $manifest.yaml: this has no value" >&2
		exit 1
	fi
	for version in 1.29 1.37; do
		"$work/env/bin/kubernetes-validate" --strict --quiet --kubernetes-version $version "$work/$manifest.yaml"
	done
done
echo "kubernetes: the manifests are those of 1.29 and of 1.37"
