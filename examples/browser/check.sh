#!/bin/sh
# Builds the browser example and compares its predictions, computed by Node.js, with those of bochner predict.
#
#   sh examples/browser/check.sh [folder for what is made]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
cd "$root"
GOOS=js GOARCH=wasm go build -ldflags "-s -w" -o "$work/bochner.wasm" ./examples/browser
go build -o "$work/bochner" ./cmd/bochner
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" examples/browser/index.html "$work"
cd "$work"
cat >iris.yaml <<'END'
name: iris
data: {dataset: iris, split: {test: 0.3, stratify: true}}
pipeline: [standardize, {rff: {features: 100, gamma: 0.1}}, logistic]
output: {dir: iris}
END
./bochner run --quiet --force iris.yaml
printf 'sepal_length,sepal_width,petal_length,petal_width\n6.5,3,5.8,2.2\n5,3.4,1.5,0.2\n5.9,2.8,4.3,1.3\n' >rows.csv
./bochner predict iris/model.bochner rows.csv >expected.csv
cat >check.js <<'END'
require("./wasm_exec.js");
const fs = require("fs");
const go = new Go();
WebAssembly.instantiate(fs.readFileSync("bochner.wasm"), go.importObject).then(r => {
  go.run(r.instance);
  const table = name => fs.readFileSync(name, "utf8").trim().split("\n").map(line => line.split(","));
  const [names, ...rows] = table("rows.csv");
  const model = bochnerLoad(new Uint8Array(fs.readFileSync("iris/model.bochner")));
  if (model.error) throw new Error(model.error);
  const answers = JSON.parse(model.predict(JSON.stringify(rows.map(r => Object.fromEntries(names.map((n, j) => [n, r[j]]))))));
  const [head, ...expected] = table("expected.csv");
  let largest = 0;
  answers.forEach((a, i) => {
    const want = Object.fromEntries(head.map((n, j) => [n, expected[i][j]]));
    if (a.class !== want.prediction) throw new Error(`row ${i}: ${a.class}, want ${want.prediction}`);
    for (const c in a.probabilities) largest = Math.max(largest, Math.abs(a.probabilities[c] - want["probability_" + c]));
  });
  if (!(largest < 1e-12)) throw new Error("probabilities differ by " + largest);
  if (!model.predict("[{}]").error.includes("no value")) throw new Error("a row without values is accepted");
  if (!bochnerLoad(new Uint8Array(3)).error) throw new Error("a damaged file is accepted");
  console.log(`browser: ${answers.length} rows as bochner predict, probabilities to ${largest.toExponential(1)}`);
  process.exit(0);
}).catch(e => { console.error(e.message); process.exit(1); });
END
node check.js
ls -l bochner.wasm | awk '{ printf "browser: bochner.wasm has %.1f MB\n", $5 / 1e6 }'
