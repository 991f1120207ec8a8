package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
)

// asJSON turns a CSV text into JSON lines: numbers as numbers, missing values by turns as null or as no key.
func asJSON(t *testing.T, text, missing string) string {
	t.Helper()
	var b strings.Builder
	lines := strings.Split(strings.TrimSpace(text), "\n")
	names := strings.Split(lines[0], ",")
	for i, line := range lines[1:] {
		var pairs []string
		for j, field := range strings.Split(line, ",") {
			v := field
			if _, err := strconv.ParseFloat(field, 64); err != nil {
				quoted, err := json.Marshal(field)
				if err != nil {
					t.Fatal(err)
				}
				v = string(quoted)
			}
			if field == missing {
				if v = "null"; i%2 == 0 {
					continue
				}
			}
			pairs = append(pairs, fmt.Sprintf("%q:%s", names[j], v))
		}
		b.WriteString("{" + strings.Join(pairs, ",") + "}\n")
	}
	return b.String()
}

// A run on JSON Lines writes the same as a run on the same rows in CSV; its model predicts the same
// for both, from files and from standard input, whose format is detected.
func TestJSONLines(t *testing.T) {
	t.Chdir(t.TempDir())
	rows, test := sample(400, class), sample(90, class)
	put(t, "rows.csv", rows)
	put(t, "rows.jsonl", asJSON(t, rows, "?"))
	put(t, "test.csv", test)
	put(t, "test.ndjson", asJSON(t, test, "?"))
	text := func(format string) string {
		return "name: same\ndata: {train: rows." + format +
			", target: y, weight: w, group: g, csv: {missing: '?'}, test: test." + map[string]string{"csv": "csv",
			"jsonl": "ndjson"}[format] +
			"}\npipeline: [{columns: [{select: numeric, steps: [{impute: {}}, standardize]}, {select: categorical, steps: " +
			"[onehot]}]}, logistic]\noutput: {dir: " + format + "}\n"
	}
	one, other := execute(t, spec(t, text("csv"))), execute(t, spec(t, text("jsonl")))
	if written(t, "csv/predictions.csv") != written(t, "jsonl/predictions.csv") ||
		fmt.Sprint(one.Test) != fmt.Sprint(other.Test) {
		t.Error("other predictions")
	}
	ctx := context.Background()
	blind := strings.ReplaceAll(strings.ReplaceAll(asJSON(t, test, "?"), `,"y":"no"`, ""), `,"y":"yes"`, "")
	put(t, "blind.jsonl", blind)
	for name, with := range map[string]struct {
		data string
		o    Options
	}{
		"a file":                 {"test.ndjson", Options{Keep: []string{"c"}}},
		"a file without targets": {"blind.jsonl", Options{Keep: []string{"c"}}},
		"standard input":         {"-", Options{Keep: []string{"c"}, Input: strings.NewReader(written(t, "test.ndjson"))}},
		"and without targets":    {"-", Options{Keep: []string{"c"}, Input: strings.NewReader(blind)}},
	} {
		for _, model := range []string{"csv/model.bochner", "jsonl/model.bochner"} {
			csvs := Options{Keep: with.o.Keep}
			if strings.Contains(name, "without") {
				csvs.Drop = []string{"y"}
			}
			var want, got bytes.Buffer
			if _, err := Predict(ctx, model, "test.csv", &want, csvs); err != nil {
				t.Fatal(err)
			}
			if with.data == "-" {
				with.o.Input = strings.NewReader(map[bool]string{true: blind,
					false: written(t, "test.ndjson")}[strings.Contains(name, "without")])
			}
			if _, err := Predict(ctx, model, with.data, &got, with.o); err != nil {
				t.Errorf("%s, %s: %v", name, model, err)
			} else if got.String() != want.String() {
				t.Errorf("%s, %s: predictions\n%.300s\nwant\n%.300s", name, model, got.String(), want.String())
			}
		}
	}
	if _, err := Evaluate(ctx, "csv/model.bochner", "blind.jsonl", Options{}); err == nil ||
		!strings.Contains(err.Error(), "blind.jsonl:1: column y: the target is missing") {
		t.Error(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Keep: []string{"nope"}}, `keep: no column "nope"; there are`},
		{Options{Drop: []string{"nope"}}, `drop: no column "nope"; there are`},
	} {
		if _, err := Predict(ctx, "csv/model.bochner", "test.ndjson", &bytes.Buffer{}, c.o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	put(t, "more.jsonl", `{"a":1,"b":2,"c":"red","note":"new"}`)
	if _, err := Predict(ctx, "csv/model.bochner", "more.jsonl", &bytes.Buffer{}, Options{}); err == nil ||
		!strings.Contains(err.Error(), `column "note" is not in the schema; drop it`) {
		t.Error(err)
	}
	if n, err := Predict(ctx, "csv/model.bochner", "more.jsonl", &bytes.Buffer{},
		Options{Drop: []string{"note"}}); err != nil || n.Rows != 1 {
		t.Error(n, err)
	}
	draft, err := scaffold.Experiment(ctx, "rows.jsonl", scaffold.Options{Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(ctx, "draft.yaml", draft); err != nil {
		t.Errorf("%v\n%s", err, draft)
	}
}
