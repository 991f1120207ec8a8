package experiment

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// modelOf changes to a directory with rows.csv and a model fitted to it called "model". The sample
// has columns a, b, c, w, g, y, where b has missing values and w are weights.
func modelOf(t *testing.T, target func(i int) string, data string) {
	t.Helper()
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(120, target))
	execute(t, spec(t, `
data: {train: rows.csv, target: y, csv: {missing: "?"}`+data+`}
pipeline:
  - columns: [{select: numeric, steps: [impute, standardize]}, {select: categorical, steps: [onehot]}]
  - rff: {features: 20}
  - `+map[bool]string{true: "logistic", false: "ridge"}[target(0) == "no"]+`
output: {dir: out}
`))
	if err := os.Rename("out/model.bochner", "model"); err != nil {
		t.Fatal(err)
	}
}

// predicted returns the predictions of a model for rows.
func predicted(t *testing.T, data string, o Options) string {
	t.Helper()
	var b strings.Builder
	done, err := Predict(context.Background(), "model", data, &b, o)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if lines := strings.Count(b.String(), "\n"); lines != done.Rows+1 {
		t.Errorf("%s: %d rows, %d lines", data, done.Rows, lines)
	}
	return b.String()
}

// cut returns a column of a CSV text without quotes.
func cut(t *testing.T, text, name string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var out []string
	for j, title := range strings.Split(lines[0], ",") {
		if title != name {
			continue
		}
		for _, line := range lines[1:] {
			out = append(out, strings.Split(line, ",")[j])
		}
		return out
	}
	t.Fatalf("no column %s in %s", name, lines[0])
	return nil
}

// TestDirectoryOfRunIsItsModel checks that the directory of a run can replace the path of its model.
func TestDirectoryOfRunIsItsModel(t *testing.T) {
	modelOf(t, func(i int) string { return []string{"no", "yes"}[i%2] }, "")
	want := predicted(t, "rows.csv", Options{})
	if err := os.Rename("model", filepath.Join("out", "model.bochner")); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var got strings.Builder
	if _, err := Predict(ctx, "out", "rows.csv", &got, Options{}); err != nil || got.String() != want {
		t.Errorf("%v, other predictions", err)
	}
	if _, err := Evaluate(ctx, "out", "rows.csv", Options{}); err != nil {
		t.Error(err)
	}
	if _, err := Inspect("out"); err != nil {
		t.Error(err)
	}
	if _, err := Export(ctx, "out", "m.py", ExportOptions{}); err != nil {
		t.Error(err)
	}
	const refused = "cannot write out/model.bochner: it is an input"
	if _, err := Export(ctx, "out", "out/model.bochner", ExportOptions{To: "go"}); err == nil ||
		!strings.Contains(err.Error(), refused) {
		t.Errorf("the model is replaced: %v", err)
	}
	if _, err := (Options{}).PredictFile(ctx, "out", "rows.csv", "out/model.bochner"); err == nil ||
		!strings.Contains(err.Error(), refused) {
		t.Errorf("the model is replaced: %v", err)
	}
}

func TestPredictNeedsNoTarget(t *testing.T) {
	for _, target := range []func(int) string{class, quantity} {
		modelOf(t, target, ", weight: w, group: g")
		want := cut(t, predicted(t, "rows.csv", Options{}), "prediction")
		for name, y := range map[string]func(i int) string{
			"all":   func(int) string { return "" },
			"some":  func(i int) string { return []string{"", target(i)}[i%2] },
			"word":  func(i int) string { return []string{"tbd", target(i)}[i%2] },
			"space": func(int) string { return "  " },
		} {
			put(t, "new.csv", strings.ReplaceAll(sample(120, y), ",1,", ",none,"))
			got := predicted(t, "new.csv", Options{})
			if fmt.Sprint(cut(t, got, "prediction")) != fmt.Sprint(want) {
				t.Errorf("%s: the predictions are others", name)
			}
			for i, truth := range cut(t, got, "truth") {
				want := y(i)
				if want == "tbd" || want == "  " {
					want = ""
				}
				if want != "" && target(0) != "no" {
					want = fmt.Sprint(parsed(t, want))
				}
				if truth != want {
					t.Fatalf("%s: row %d has truth %q, want %q", name, i, truth, want)
				}
			}
		}
		put(t, "none.csv", without(sample(120, target), 3, 4, 5))
		if got := predicted(t, "none.csv", Options{}); strings.Contains(got, "truth") ||
			fmt.Sprint(cut(t, got, "prediction")) != fmt.Sprint(want) {
			t.Error("without the column it predicts\n" + got)
		}
	}
}

// parsed is a number as a prediction writes it.
func parsed(t *testing.T, text string) float64 {
	t.Helper()
	var v float64
	if _, err := fmt.Sscan(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// without leaves columns out of a plain CSV text.
func without(text string, columns ...int) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var kept []string
		for j, f := range strings.Split(line, ",") {
			if !strings.Contains(fmt.Sprint(columns), fmt.Sprint(j)) {
				kept = append(kept, f)
			}
		}
		b.WriteString(strings.Join(kept, ",") + "\n")
	}
	return b.String()
}

// TestEvaluateListsRowsWithoutTarget checks that evaluation requires the target, and that the
// error lists the rows without it.
func TestEvaluateListsRowsWithoutTarget(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	put(t, "new.csv", sample(5000, func(i int) string {
		if i == 2 || i > 3000 && i%500 == 0 {
			return ""
		}
		return class(i)
	}))
	_, err := Evaluate(context.Background(), "model", "new.csv", Options{})
	if want := "new.csv:4: column y: the target is missing; set missing_target: drop to skip such rows; also in line " +
		"3502, 4002, 4502"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	put(t, "none.csv", without(sample(9, class), 5))
	if _, err = Evaluate(context.Background(), "model", "none.csv", Options{}); err == nil ||
		!strings.Contains(err.Error(), `target: no column "y"`) {
		t.Error(err)
	}
	if _, err = Evaluate(context.Background(), "model", "rows.csv", Options{Drop: []string{"y"}}); err == nil ||
		!strings.Contains(err.Error(), `"y" is already the dropped one`) {
		t.Error(err)
	}
}

// TestRowsReadOnce checks that rows can be read from a pipe, compressed or not, in every
// format, in one pass.
func TestRowsReadOnce(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	text := sample(120, class)
	want := predicted(t, "rows.csv", Options{})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, text)
	z.Close()
	head := "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute c {blue,green,red}\n@attribute w " +
		"numeric\n@attribute g numeric\n@attribute y {no,yes}\n@data\n"
	yes, no := true, false
	for name, test := range map[string]struct {
		text string
		o    Options
	}{
		"csv":                {text, Options{}},
		"explicit csv":       {text, Options{Format: "csv"}},
		"gzip":               {packed.String(), Options{}},
		"tabs":               {strings.ReplaceAll(text, ",", "\t"), Options{}},
		"tsv":                {strings.ReplaceAll(text, ",", "\t"), Options{Format: "tsv"}},
		"semicolons":         {strings.ReplaceAll(text, ",", ";"), Options{Delimiter: ";"}},
		"arff":               {head + strings.SplitN(text, "\n", 2)[1], Options{Format: "arff"}},
		"arff seen":          {head + strings.SplitN(text, "\n", 2)[1], Options{}},
		"carriage returns":   {strings.ReplaceAll(text, "\n", "\r\n"), Options{}},
		"a byte order mark":  {"\ufeff" + text, Options{}},
		"no end of line":     {strings.TrimSuffix(text, "\n"), Options{}},
		"another marker":     {strings.ReplaceAll(text, "?", "n/a"), Options{Missing: []string{"n/a"}}},
		"one marker more":    {text, Options{Missing: []string{"n/a"}}},
		"a header":           {text, Options{Header: &yes}},
		"a column more":      {strings.ReplaceAll(text, "\n", ",-\n"), Options{Drop: []string{"-"}}},
		"a column by number": {strings.ReplaceAll(text, "\n", ",-\n"), Options{Drop: []string{"-1"}}},
	} {
		test.o.Input = strings.NewReader(test.text)
		if got := predicted(t, "-", test.o); got != want {
			t.Errorf("%s: other predictions:\n%.200s", name, got)
		}
	}
	put(t, "tabs.csv", strings.ReplaceAll(text, ",", "\t"))
	if got := predicted(t, "tabs.csv", Options{Format: "tsv"}); got != want {
		t.Errorf("explicit format: %.200s", got)
	}
	put(t, "rows.xyz", text)
	if got := predicted(t, "rows.xyz", Options{}); got != want {
		t.Errorf("unknown extension: %.200s", got)
	}
	_, err := Predict(context.Background(), "model", "-", io.Discard, Options{Header: &no, Input: strings.NewReader(text)})
	if err == nil || !strings.HasPrefix(err.Error(), `standard input: missing column "a", "b", "c"; column "x0"`) {
		t.Error(err)
	}
	e, err := Evaluate(context.Background(), "model", "-", Options{Input: strings.NewReader(text)})
	if err != nil || e.Rows != 120 {
		t.Errorf("%+v, %v", e, err)
	}
	_, err = Evaluate(context.Background(), "model", "-", Options{Input: strings.NewReader(strings.Replace(text, "\n40,",
		"\nforty,", 1) + "x,1,red,1,1,no\n")})
	if err == nil || err.Error() != `standard input:122: column a: "x" is not a number` {
		t.Error(err)
	}
	_, err = Predict(context.Background(), "model", "-", io.Discard, Options{Input: strings.NewReader("")})
	if err == nil || err.Error() != "standard input: empty file" {
		t.Error(err)
	}
}

// endless is a CSV stream that ends on request.
type endless struct {
	lines, most int
	rest        []byte
	read        atomic.Int64 // lines, for concurrent readers
}

func (e *endless) Read(b []byte) (int, error) {
	if e.lines == 0 {
		e.rest = []byte("a,b,c,w,g\n")
	}
	for len(e.rest) < len(b) && e.lines < e.most {
		e.rest = fmt.Appendf(e.rest, "%d,%.2f,red,1,2\n", e.lines%23, math.Sin(float64(e.lines)))
		e.lines++
	}
	e.read.Store(int64(e.lines))
	if len(e.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// ahead measures how far the input is ahead of the output, and the memory in use from the middle of
// the output on, as the minimum of several measurements.
type ahead struct {
	in            *endless
	written, most int
	looks         int
	inUse         uint64
}

func (a *ahead) Write(p []byte) (int, error) {
	a.most = max(a.most, int(a.in.read.Load())-a.written)
	if a.written += bytes.Count(p, []byte("\n")); a.written > a.in.most*(4+a.looks)/8 {
		if now := inUse(); a.looks == 0 || now < a.inUse {
			a.inUse = now
		}
		a.looks++
	}
	return len(p), nil
}

// inUse returns the number of bytes in use.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestPipesAreStreamed checks that memory is bounded when rows are read from a pipe.
func TestPipesAreStreamed(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	in := &endless{most: 800_000} // 15 MB
	out := &ahead{in: in}
	before := inUse()
	done, err := Predict(context.Background(), "model", "-", out, Options{Input: in})
	if err != nil || done.Rows != in.most {
		t.Fatalf("%d rows, %v", done.Rows, err)
	}
	if out.most > in.most/2 {
		t.Errorf("%d of %d rows were read before they were predicted", out.most, in.most)
	}
	if out.inUse > before+8<<20 {
		t.Errorf("%d bytes are in use, %d before", out.inUse, before)
	}
}

// silent is an input that never delivers data.
type silent struct{ until chan struct{} }

func (s silent) Read([]byte) (int, error) { <-s.until; return 0, io.EOF }

// Waiting for input can be interrupted.
func TestWaitingForRowsEnds(t *testing.T) {
	modelOf(t, class, "")
	in := silent{make(chan struct{})}
	defer close(in.until)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := Options{Input: in}.PredictFile(ctx, "model", "-", "p.csv")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if left, _ := filepath.Glob("*p.csv*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// Kept columns are copied, whether the model has them as inputs, has dropped them or never knew them.
func TestKeep(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	put(t, "new.csv", "id,c,g,b,w,a\n\"7,\"\"x\"\"\",red,u,?,1,2\n é ,blue,v,1.5,1,\n")
	got := predicted(t, "new.csv", Options{Keep: []string{"id", "g", "c", "b"}})
	for _, want := range []string{"row,id,g,c,b,prediction,probability_no,probability_yes\n0,\"7,\"\"x\"\"\",u,red,,",
		"\n1,é,v,blue,1.5,"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	put(t, "many.csv", sample(5000, class))
	if ids := cut(t, predicted(t, "many.csv", Options{Keep: []string{"g"}}), "g"); len(ids) != 5000 ||
		ids[4999] != "1249" || ids[4] != "1" {
		t.Errorf("%d ids, %v …", len(ids), ids[:5])
	}
	for keep, want := range map[string]string{
		"idd":        `new.csv: keep: no column "idd"; there are id, c, g, b, w, a`,
		"prediction": "duplicate output column prediction",
	} {
		name := "new.csv"
		if keep == "prediction" {
			put(t, "own.csv", "prediction,c,b,a\nx,red,1,2\n")
			name = "own.csv"
		}
		_, err := Predict(context.Background(), "model", name, io.Discard, Options{Keep: []string{keep}})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestColumnsOfNewRows checks that columns are matched by name and that all mismatches are reported
// together. A category missing from the training rows is unknown, so onehot has no column for it.
func TestColumnsOfNewRows(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	put(t, "plain.csv", "a,b,c\n1,2,red\n3,,green\n")
	want := predicted(t, "plain.csv", Options{})
	put(t, "turned.csv", "c,w,a,b\nred,7,1,2\ngreen,8,3,\n")
	if got := predicted(t, "turned.csv", Options{}); got != want {
		t.Errorf("another order: %s, want %s", got, want)
	}
	put(t, "levels.csv", "a,b,c\n1,2,pink\n1,2,\n1,2,grey\n")
	got := cut(t, predicted(t, "levels.csv", Options{}), "probability_no")
	if got[0] != got[2] || strings.Contains(want, got[0]) {
		t.Errorf("unknown levels: %v", got)
	}
	for text, want := range map[string]string{
		"b\n1\n":               `bad.csv: missing column "a", "c"`,
		"a,b,c,d,e\n1,2,x,4,5": `bad.csv: column "d", "e" is not in the schema; drop it`,
		"a,b,d\n1,2,3\n":       `bad.csv: missing column "c"; column "d" is not in the schema`,
		"a,b,c,b\n1,2,3,4\n":   `bad.csv:1: columns 2 and 4 are both called "b"`,
		"a,b,c\n1,2\n":         "bad.csv:2: number of fields must be 3, got 2",
		"a,b,c\n1,2,x\nx,1,y":  `bad.csv:3: column a: "x" is not a number`,
	} {
		put(t, "bad.csv", text)
		if _, err := Predict(context.Background(), "model", "bad.csv", io.Discard, Options{}); err == nil ||
			err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := Predict(context.Background(), "model", "plain.csv", io.Discard, Options{Drop: []string{"z"}})
	if want := `plain.csv: drop: no column "z"; there are a, b, c`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestPredictionsAreCompleteLines checks that after an invalid row, a writer has complete lines and a
// file is not written.
func TestPredictionsAreCompleteLines(t *testing.T) {
	modelOf(t, class, ", drop: [w, g]")
	put(t, "bad.csv", sample(9000, class)+"x,1,red,1,1,no\n")
	var b strings.Builder
	_, err := Predict(context.Background(), "model", "bad.csv", &b, Options{})
	if err == nil || err.Error() != `bad.csv:9002: column a: "x" is not a number` {
		t.Error(err)
	}
	if text := b.String(); !strings.HasSuffix(text, "\n") || strings.Count(text, "\n") < 4000 {
		t.Errorf("%d lines, the end is %q", strings.Count(text, "\n"), text[len(text)-20:])
	}
	put(t, "p.csv", "earlier\n")
	if _, err := (Options{}).PredictFile(context.Background(), "model", "bad.csv", "p.csv"); err == nil {
		t.Error("no error")
	}
	if text, _ := os.ReadFile("p.csv"); string(text) != "earlier\n" {
		t.Errorf("the output is %.30q", text)
	}
	if err := os.Symlink("p.csv", "short"); err != nil {
		t.Skip(err)
	}
	if _, err := (Options{}).PredictFile(context.Background(), "model", "rows.csv", "short"); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat("short"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if text, _ := os.ReadFile("p.csv"); strings.Count(string(text), "\n") != 121 {
		t.Errorf("behind the link is %.30q", text)
	}
	for _, out := range []string{"model", "bad.csv"} {
		if err := os.Link(out, "link"); err != nil {
			t.Skip(err)
		}
		if _, err := (Options{}).PredictFile(context.Background(), "model", "bad.csv", "link"); err == nil ||
			!strings.Contains(err.Error(), "take another name") {
			t.Error(err)
		}
		os.Remove("link")
	}
}

// saved fits a pipeline to rows and saves it as a program would that knows no experiments.
func saved(t *testing.T, rows datasets.Set) {
	t.Helper()
	p := pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize(),
		transformer.NewRFF()).Then(estimator.NewRidge())
	if len(rows.Schema.Classes()) > 0 {
		p = pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize(),
			transformer.NewRFF()).Then(estimator.NewLogistic())
	}
	fitted, err := p.Fit(context.Background(), rows)
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Save("model"); err != nil {
		t.Fatal(err)
	}
}

// TestModelsOfPrograms checks that a model saved by a program predicts like the model of a run: its
// file contains the columns, the classes, the target and the missing-value markers.
func TestModelsOfPrograms(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", sample(120, class))
	roles := datasets.Roles{Target: []string{"y"}, Drop: []string{"c", "w", "g"}}
	rows, err := csv.Options{Roles: roles, Missing: []string{"?"}}.ReadFile(context.Background(), "rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	saved(t, rows)
	want, err := mustLoad(t).Predict(context.Background(), rows.X)
	if err != nil {
		t.Fatal(err)
	}
	others := Options{Drop: []string{"c", "w", "g"}}
	output := predicted(t, "rows.csv", others)
	for i, class := range cut(t, output, "prediction") {
		if class != rows.Schema.Classes()[int(want[i])] {
			t.Fatalf("row %d: %s, want class %v", i, class, want[i])
		}
	}
	put(t, "na.csv", strings.ReplaceAll(sample(120, class), "?", "NA"))
	if _, err := Predict(context.Background(), "model", "na.csv", io.Discard, others); err == nil ||
		!strings.HasPrefix(err.Error(), `na.csv:5: column b: "NA" is not a number; if it denotes a missing value, `+
			`add it to missing`) {
		t.Error(err)
	}
	others.Missing = []string{"NA"}
	if got := predicted(t, "na.csv", others); got != output {
		t.Error("a marker of these rows changes the predictions")
	}
	if e, err := Evaluate(context.Background(), "model", "rows.csv", others); err != nil || e.Task != "classification" ||
		e.Scores["accuracy"] == 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

func mustLoad(t *testing.T) estimator.Predictor {
	t.Helper()
	m, err := modelfile.Load("model")
	if err != nil {
		t.Fatal(err)
	}
	return m.Predictor
}

// A model of an unnamed matrix accepts columns in order, with any names, if their number agrees; it
// cannot be evaluated, because the target is unknown.
func TestModelsOfPlainMatrices(t *testing.T) {
	t.Chdir(t.TempDir())
	x := mat.NewDense(30, 2, nil)
	y := make([]float64, 30)
	for i := range y {
		x.Set(i, 0, float64(i%7))
		x.Set(i, 1, float64(i%5))
		y[i] = float64(i % 7)
	}
	saved(t, datasets.Set{X: x, Y: y})
	put(t, "two.csv", "u,v\n3,1\n")
	put(t, "two.svm", "0 1:3 2:1\n")
	a, b := predicted(t, "two.csv", Options{}), predicted(t, "two.svm", Options{})
	if cut(t, a, "prediction")[0] != cut(t, b, "prediction")[0] {
		t.Errorf("%s and %s", a, b)
	}
	put(t, "dash.csv", "u,v\n-,NaN\n")
	predicted(t, "dash.csv", Options{Missing: []string{"-"}})
	put(t, "three.csv", "u,v,y\n3,1,3\n")
	_, err := Predict(context.Background(), "model", "three.csv", io.Discard, Options{})
	if want := "three.csv: number of columns must be 2, got 3"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	predicted(t, "three.csv", Options{Drop: []string{"y"}})
	if _, err := Evaluate(context.Background(), "model", "two.csv", Options{}); err == nil ||
		!strings.Contains(err.Error(), "has no target name") {
		t.Error(err)
	}
}

// Rows of svmlight have neither a header nor a format in a pipe; the label may be any number.
func TestPredictSparseRows(t *testing.T) {
	t.Chdir(t.TempDir())
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "%d 1:%d 3:%d\n", []int{-1, 1}[i%2], i%2+1, i%5)
	}
	put(t, "rows.svm", b.String())
	execute(t, spec(t, "data: {train: rows.svm, task: classification}\npipeline: [{rff: {features: 20}}, "+
		"logistic]\noutput: {dir: out}\n"))
	if err := os.Rename("out/model.bochner", "model"); err != nil {
		t.Fatal(err)
	}
	want := cut(t, predicted(t, "rows.svm", Options{}), "prediction")
	zeros := strings.ReplaceAll("\n"+strings.ReplaceAll(b.String(), "\n-1", "\n1"), "\n1 ", "\n0 ")
	zeros = strings.Replace(zeros, "-1 ", "0 ", 1)
	got := predicted(t, "-", Options{Input: strings.NewReader(zeros)})
	if fmt.Sprint(cut(t, got, "prediction")) != fmt.Sprint(want) || strings.Join(cut(t, got, "truth"), "") != "" {
		t.Errorf("without labels it predicts\n%s", got)
	}
	for _, o := range []Options{{Drop: []string{"1"}}, {Keep: []string{"1"}}} {
		if _, err := Predict(context.Background(), "model", "rows.svm", io.Discard, o); err == nil ||
			!strings.Contains(err.Error(), "no names by which") {
			t.Error(err)
		}
	}
}

// Rows without a header may lack the target, wherever it stood in the training file.
func TestNoHeaderAndNoTarget(t *testing.T) {
	for _, csv := range []string{"{columns: [y, id, a, b]}", "{header: false}"} {
		t.Chdir(t.TempDir())
		var with, without strings.Builder
		for i := range 60 {
			fmt.Fprintf(&with, "%s,id%d,%d,%d\n", class(i), i, i%23, i%5)
			fmt.Fprintf(&without, "id%d,%d,%d\n", i, i%23, i%5)
		}
		put(t, "rows.csv", with.String())
		put(t, "new.csv", without.String())
		names := map[bool][]string{true: {"y", "id", "a", "b"}, false: {"x0", "x1", "x2", "x3"}}[strings.Contains(csv, "y")]
		execute(t, spec(t, "data: {train: rows.csv, csv: "+csv+", target: "+names[0]+", drop: ["+names[1]+
			"]}\npipeline: [standardize, {rff: {features: 20}}, logistic]\noutput: {dir: out}\n"))
		if err := os.Rename("out/model.bochner", "model"); err != nil {
			t.Fatal(err)
		}
		want := cut(t, predicted(t, "rows.csv", Options{}), "prediction")
		got := predicted(t, "new.csv", Options{Keep: []string{names[1]}})
		if fmt.Sprint(cut(t, got, "prediction")) != fmt.Sprint(want) || cut(t, got, names[1])[7] != "id7" {
			t.Errorf("%s: without the target it predicts\n%.200s", csv, got)
		}
		yes := true
		put(t, "named.csv", strings.Join([]string{names[1], names[2], names[3]}, ",")+"\n"+without.String())
		if got := predicted(t, "named.csv", Options{Header: &yes}); fmt.Sprint(cut(t, got,
			"prediction")) != fmt.Sprint(want) {
			t.Errorf("%s: with a header it predicts\n%.200s", csv, got)
		}
		put(t, "short.csv", "1,2\n")
		if _, err := Predict(context.Background(), "model", "short.csv", io.Discard, Options{}); err == nil {
			t.Error("rows of two columns pass")
		}
	}
}
