package experiment

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/bochner-ml/bochner/experiment/result"
)

// sales is a German CSV of n rows: a word with an umlaut, a date with the day first, and a price
// with a decimal comma that both decide, missing in every seventh row.
func sales(n int) string {
	var b strings.Builder
	b.WriteString("stadt;datum;fläche;preis\n")
	for i := range n {
		price := strings.Replace(fmt.Sprintf("%.2f", 10.25*float64(i%12)+float64(i%3)), ".", ",", 1)
		if i%7 == 4 {
			price = ""
		}
		fmt.Fprintf(&b, "%s;%d/%d/2023 10:30;1.%03d,5;%s\n", []string{"Köln", "München", "Ulm"}[i%3], 1+i%28, 1+i%12, i,
			price)
	}
	return b.String()
}

func latin1(text string) string {
	var b strings.Builder
	for _, c := range text {
		b.WriteByte(byte(c))
	}
	return b.String()
}

func utf16le(text string) string {
	b := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune(text)) {
		b = append(b, byte(c), byte(c>>8))
	}
	return string(b)
}

const salesSpec = `
data:
  train: sales.csv
  split: {test: 0.25}
  csv: {delimiter: ;, encoding: latin-1, decimal: ",", thousands: .}
  target: preis
  missing_target: drop
  dates: {datum: {order: dmy, parts: [month, weekday]}}
pipeline: [{columns: [{select: numeric, steps: [standardize]}, {select: categorical, steps: [onehot]}]}, {rff: {features: 40}}, ridge]
output: {dir: out}
`

// A file in its own encoding and notation, with dates and with rows that lack the target, is learned
// from, and the model reads others of the kind.
func TestRunOfAFileFromElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "sales.csv", latin1(sales(140)))
	s := spec(t, salesSpec)
	written, err := s.Encode("spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	again := spec(t, string(written))
	if !reflect.DeepEqual(placeless(s), placeless(again)) {
		t.Errorf("another spec:\n%+v\n%+v", s, again)
	}
	r := execute(t, s)
	if r.Rows != (result.Rows{Train: 90, Test: 30}) || r.Features != 4 {
		t.Errorf("%+v, %d inputs; want 120 of 140 rows and stadt, two parts of the date, fläche", r.Rows, r.Features)
	}
	if r.Test["r2"] < 0.8 {
		t.Errorf("r2 is %v", r.Test["r2"])
	}
	if text := strings.Join(r.Warnings, "\n"); !strings.Contains(text,
		"sales.csv: 20 of 140 rows have no target and are left out") {
		t.Errorf("the warnings are %q", text)
	}
	m, err := Inspect("out/model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, c := range m.Columns {
		columns = append(columns, c.Name)
	}
	if got := strings.Join(columns, " "); got != "stadt datum_month datum_weekday fläche" {
		t.Errorf("the inputs are %s", got)
	}
	var b bytes.Buffer
	put(t, "new.csv", latin1("datum;fläche;stadt\n24/12/2023;1.010,5;Köln\n"))
	if n, err := Predict(context.Background(), "out/model.bochner", "new.csv", &b, Options{}); err != nil || n.Rows != 1 {
		t.Errorf("%d rows predicted, %v", n.Rows, err)
	}
}

// TestRowsOfPredictions checks that the row numbers of predictions are those in the file, also
// after skipped rows.
func TestRowsOfPredictions(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "sales.csv", latin1(sales(140)))
	truth := strings.Split(sales(140), "\n")[1:]
	for _, s := range []Spec{
		spec(t, salesSpec),
		spec(t, strings.Replace(salesSpec, "split: {test: 0.25}", "test: sales.csv", 1)),
		spec(t, salesSpec, set("data.stream", "always")),
	} {
		execute(t, s)
		text, err := os.ReadFile("out/predictions.csv")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
		for _, line := range lines {
			var row int
			var value float64
			if _, err := fmt.Sscanf(line, "%d,%g,", &row, &value); err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(fmt.Sprintf("%.2f", value), ".", ",", 1); !strings.HasSuffix(truth[row], ";"+want) {
				t.Fatalf("row %d has the truth %v, the file %q", row, value, truth[row])
			}
		}
		if len(lines) != 30 && len(lines) != 120 {
			t.Errorf("%d predictions", len(lines))
		}
	}
}

// Errors of the keys for reading have positions.
func TestReadErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "sales.csv", latin1(sales(140)))
	for _, c := range []struct{ old, new, want string }{
		{"latin-1", "latin-2", "spec.yaml:5:33: data.csv.encoding"},
		{"thousands: .", `thousands: ","`, "data.csv.thousands"},
		{"datum:", "tag:", `spec.yaml:8:3: data.dates: no column "tag" in sales.csv`},
		{"order: dmy", "order: ymd", `order must be dmy or mdy, got "ymd"`},
		{"weekday", "century", `part must be one of year, month, day, weekday, hour, month_sin, month_cos, ` +
			`weekday_sin, weekday_cos, hour_sin, hour_cos, elapsed, got "century"`},
		{"missing_target: drop", "missing_target: ignore", "data.missing_target"},
		{"latin-1", "utf-8", "sales.csv:1:15: must be utf-8; set csv.encoding to one of latin-1, windows-1252, utf-16"},
	} {
		text := strings.Replace(salesSpec, c.old, c.new, 1)
		if _, err := Parse(context.Background(), "spec.yaml", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}
