#!/bin/sh
# Asks a server with clients of others, Triton's and, where it is installed, KServe's, over HTTP and gRPC with every way that their
# data may travel, TLS and a token; what they get has to be what "bochner predict" writes for the same rows, to the last bit. Then
# requests that are wrong, and a model that is replaced while it is asked.
#
#   sh serve/check.sh [folder for the Python environment and what is made]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)

if [ ! -x "$work/env/bin/python" ]; then
	python3 -m venv "$work/env"
	"$work/env/bin/pip" install --quiet 'tritonclient[http,grpc]==2.*'
fi
(cd "$root" && go build -C distributed -o "$work/bochner" ./cmd/bochner)
cp "$root/examples/flats.csv" "$root/serve/clients.py" "$work"
cd "$work"
rm -rf runs served && mkdir served

cat >rent.yaml <<'END'
name: rent
data: {train: flats.csv, target: rent, split: {test: 0.2}}
pipeline:
  - columns:
      - {name: numeric, select: numeric, steps: [{impute: {strategy: median}}, standardize]}
      - {name: categorical, select: categorical, steps: [onehot]}
  - rff: {features: 100, gamma: 0.05}
  - gaussian_process
output: {dir: runs/rent}
END
cat >iris.yaml <<'END'
name: iris
data: {dataset: iris, split: {test: 0.3, stratify: true}}
pipeline: [standardize, {rff: {features: 100, gamma: 0.1}}, logistic]
output: {dir: runs/iris}
END
for name in rent iris; do
	./bochner run --quiet $name.yaml
	cp runs/$name/model.bochner served/$name.bochner
done
sed -e 's/harbour/moon/' -e '3s/^[^,]*//' flats.csv | head -60 >rent.csv # a category and a value that are not known
"$work/env/bin/python" clients.py rows iris >iris.csv
for name in rent iris; do
	./bochner predict served/$name.bochner $name.csv -o $name.predicted.csv --quiet
done

echo sesame >token
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName = DNS:localhost,IP:127.0.0.1' \
	-keyout tls.key -out tls.crt 2>/dev/null
serve() { # name of the log, flags
	log=$1
	shift
	: >"$log" # of a run before
	./bochner serve served/rent.bochner served/iris.bochner --addr 127.0.0.1:0 --grpc-addr 127.0.0.1:0 --period 50ms "$@" >"$log" 2>"$log.err" &
	server=$!
	trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
	tries=0
	until grep -q '^ready' "$log"; do
		sleep 0.1 && tries=$((tries + 1))
		[ $tries -lt 300 ] || { cat "$log" "$log.err" >&2; echo "serve: the server does not come up" >&2; exit 1; }
	done
	address=$(sed -n 's/^listening on //p' "$log")
	grpc=$(sed -n 's/^listening for gRPC on //p' "$log")
}
serve plain.log
env/bin/python clients.py plain "$address"
env/bin/python clients.py grpc "$grpc"
env/bin/python clients.py grpc-kserve "$grpc"
kill "$server" && wait "$server" || { cat plain.log.err >&2; echo "serve: it does not end well" >&2; exit 1; }
serve closed.log --tls-cert tls.crt --tls-key tls.key --token-file token
env/bin/python clients.py closed "$address"
env/bin/python clients.py grpc-closed "$grpc"
kill "$server" && wait "$server"
echo "serve: all clients agree"
