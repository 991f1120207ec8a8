#!/bin/sh
# Makes the screenshots of the report, the comparison and the server's pages in light and dark, with Chromium.
#
#   sh docs/screenshots.sh
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
server=
(cd "$root" && go build -o "$work/bochner" ./cmd/bochner)
cd "$work"

shot() { # name, scheme (1 light, 0 dark), width,height, address
	timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync --user-data-dir="$work/browser" \
		--blink-settings=preferredColorScheme="$2" --window-size="$3" --screenshot="$root/docs/$1.png" "$4" 2>/dev/null
	[ "$(wc -c <"$root/docs/$1.png")" -gt 10000 ] || { echo "$1 is empty" >&2; exit 1; }
}

./bochner run --quiet "$root/examples/adult/adult.yaml"
./bochner run --quiet "$root/examples/adult/adult.yaml" --no-search --set rff.features=50 --set output.dir=runs/small
./bochner compare runs/adult runs/small --html compared.html >/dev/null
./bochner serve adult=runs/adult/model.bochner --ui --addr 127.0.0.1:0 >log 2>log.err &
server=$!
until grep -q '^ready' log; do sleep 0.1; done
url=$(sed -n 's/^listening on //p' log)
row='age=39&workclass=State-gov&education=Bachelors&education_num=13&marital_status=Never-married&occupation=Adm-clerical'
row="$row&relationship=Not-in-family&race=White&sex=Male&capital_gain=2174&capital_loss=0&hours_per_week=40&native_country=United-States"

report="file://$work/runs/adult/report.html"
shot report-light 1 1100,950 "$report"
shot report-dark 0 1100,950 "$report"
# A copy that shows one section.
sed "s#</head>#<style>body>header,main>:not(\#inputs){display:none}</style></head>#" runs/adult/report.html >inputs.html
shot report-inputs 1 1100,700 "file://$work/inputs.html"
./bochner run --quiet "$root/examples/power/power.yaml" --no-search
./bochner explain --quiet runs/power "$root/examples/power/power.csv.gz" -o explained.html
shot explain-light 1 1100,1150 "file://$work/explained.html"
shot explain-dark 0 1100,1150 "file://$work/explained.html"
shot compare 1 1100,800 "file://$work/compared.html"
shot serve-light 1 1100,1000 "$url/ui/adult?$row"
shot serve-dark 0 1100,1000 "$url/ui/adult?$row"
