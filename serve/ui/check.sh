#!/bin/sh
# Opens the pages of a served model in Chromium, at the widths of a phone and of a screen, and wants what the server predicts on
# them, a picture of each, and no complaint of the browser about what the pages want to load or run.
#
#   sh serve/ui/check.sh [folder for what is made]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
(cd "$root" && go build -o "$work/bochner" ./cmd/bochner)
cd "$work"
cat >iris.yaml <<'END'
name: iris
data: {dataset: iris, split: {test: 0.3, stratify: true}}
pipeline: [standardize, {rff: {features: 100, gamma: 0.1}}, logistic]
output: {dir: runs/iris}
END
rm -rf runs
./bochner run --quiet iris.yaml
./bochner serve iris=runs/iris/model.bochner --ui --addr 127.0.0.1:0 >log 2>log.err &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true' EXIT
tries=0
until grep -q '^ready' log; do
	sleep 0.1 && tries=$((tries + 1))
	[ $tries -lt 300 ] || { cat log.err; exit 1; }
done
url=$(sed -n 's/^listening on //p' log)
row='sepal_length=6.5&sepal_width=3&petal_length=5.8&petal_width=2.2'

browse() { # flags, address
	rm -rf browser
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --enable-logging=stderr --user-data-dir="$work/browser" "$@" 2>browser.err
	if grep CONSOLE browser.err >&2; then
		echo "the browser complains" >&2
		exit 1
	fi
}
browse --dump-dom "$url/" >models.html
grep -q 'href="./iris"' models.html || { echo "the list of models is not shown"; exit 1; }
browse --dump-dom "$url/ui/iris?$row#result" >iris.html
grep -q '<p class="prediction">Iris-virginica</p>' iris.html || { echo "the prediction is not shown"; exit 1; }
grep -q 'Contributions of the inputs to the score of Iris-virginica' iris.html || { echo "what moved it is not shown"; exit 1; }
for width in 500 1400; do # Chromium's window is not smaller
	rm -f iris-$width.png
	browse --screenshot="$work/iris-$width.png" --window-size=$width,1500 "$url/ui/iris?$row" >/dev/null
	[ "$(wc -c <iris-$width.png)" -gt 20000 ] || { echo "the picture of $width is empty"; exit 1; }
done
echo "Chromium shows models, a form, its prediction and what moved it, and reports no errors"
