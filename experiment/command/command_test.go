package command

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/rows/profile"
)

// run runs the command without parts.
func run(ctx context.Context, args []string, out, err io.Writer) int {
	return Parts{}.Run(ctx, args, out, err)
}

// call runs the command and wants an exit code.
func call(t *testing.T, code int, args string) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	if got := run(context.Background(), strings.Fields(args), &o, &e); got != code {
		t.Fatalf("bochner %s: exit code %d, want %d: %s", args, got, code, e.String())
	}
	return o.String(), e.String()
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

// A user drafts an experiment, plans it, runs it, and predicts.
func TestFromRowsToPredictions(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", rows(120))
	out, _ := call(t, success, "init rows.csv --target y")
	has(t, out, "note: Column a is dropped: counts the rows.", "rows.yaml written")
	out, _ = call(t, success, "validate rows.yaml")
	has(t, out, "rows.yaml is valid")
	out, _ = call(t, success, "plan rows.yaml")
	has(t, out, "96 × 5 folds, 481 fits", "rff", "logistic")
	out, errs := call(t, success, "run rows.yaml --set rff.features=20")
	has(t, out, "96 candidates × 5 folds: accuracy", "balanced_accuracy", "written: runs/rows/predictions.csv")
	has(t, errs, "load\n", "search\n", "refit\n", "evaluate\n")
	for _, name := range []string{"spec.yaml", "result.json", "cv_results.csv", "predictions.csv", "model.bochner",
		"report.html"} {
		if _, err := os.Stat("runs/rows/" + name); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir("runs/rows"); len(entries) != 6 {
		t.Errorf("%d files, want 6: %v", len(entries), entries)
	}
	out, _ = call(t, success, "run rows.yaml --set rff.features=20 --set output.dir=runs/later --start-from runs/rows")
	has(t, out, "started from runs/rows: ", " of 96 candidates × 5 folds: accuracy")
	out, _ = call(t, success, "run rows.yaml --set output.dir=runs/later --start-from runs/rows --json --force")
	has(t, out, `"started_from": {`, `"run": "runs/rows"`, `"grid_size": 96`)
	out, _ = call(t, success, "inspect runs/rows/model.bochner")
	has(t, out, "target", "rff", "features: 20", "categorical", "green, red")
	out, _ = call(t, success, "evaluate runs/rows/model.bochner rows.csv")
	has(t, out, "120 rows", "accuracy", "no data drift")
	out, _ = call(t, success, "predict runs/rows/model.bochner rows.csv")
	if lines := strings.Count(out, "\n"); lines != 121 {
		t.Errorf("%d lines of predictions, want 121", lines)
	}
	has(t, out, "row,truth,prediction,probability_no,probability_yes\n0,no,")
}

// A run of the resolved spec repeats the first to the bit.
func TestResolvedSpecRepeatsTheRun(t *testing.T) {
	t.Chdir(workplace(t))
	call(t, success, "run --quiet good.yaml --set search.grid.rff.gamma=[0.1,1] --set search.folds=3 --set seed=5 "+
		"--set data.split.test=0.3")
	first, err := os.ReadFile("made/predictions.csv")
	if err != nil {
		t.Fatal(err)
	}
	call(t, success, "run --quiet made/spec.yaml --set output.dir=again")
	second, err := os.ReadFile("again/predictions.csv")
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Error("the predictions differ")
	}
}

// Columns are matched by name: another order gives the same predictions.
func TestPredictMatchesColumnsByName(t *testing.T) {
	t.Chdir(workplace(t))
	records, err := csv.NewReader(strings.NewReader(rows(40))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var turned strings.Builder
	w := csv.NewWriter(&turned)
	for _, r := range records {
		w.Write([]string{r[3], r[2], r[0], r[1]})
	}
	w.Flush()
	put(t, "turned.csv", turned.String())
	a, _ := call(t, success, "predict model.bochner rows.csv")
	b, _ := call(t, success, "predict model.bochner turned.csv")
	if a != b {
		t.Error("another order of columns changes the predictions")
	}
	put(t, "blind.csv", "c,a,b\nred,1,2.5\nblue,3,4\n")
	out, errs := call(t, success, "predict model.bochner blind.csv -o p.csv")
	has(t, out, "2 rows written to p.csv")
	has(t, errs, "predict")
	text, err := os.ReadFile("p.csv")
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(text), "row,prediction,probability_no,probability_yes\n0,")
}

// The flags of predict for other files: encoding, decimal mark, invalid rows, JSON.
func TestPredictFlags(t *testing.T) {
	t.Chdir(workplace(t))
	put(t, "new.csv", "\ufeffa;b;c\n1;2,5;red\n2;x;red\n3;1,5;blau\n")
	flags := " --delimiter ; --decimal , --encoding latin-1"
	if _, errs := call(t, failure, "predict model.bochner new.csv"+flags); !strings.Contains(errs, `"x" is not a number`) {
		t.Error(errs)
	}
	out, errs := call(t, success, "--json predict model.bochner new.csv --skip-invalid bad.csv"+flags)
	var got struct {
		Predictions   []map[string]any
		Rows, Skipped int
		Unknown       map[string]int `json:"unknown_categories"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Predictions) != 2 || got.Rows != 2 || got.Skipped != 1 || got.Unknown["c"] != 1 {
		t.Errorf("%+v", got)
	}
	has(t, errs, "bochner: warning: 1 of 3 rows are invalid", `"c" in 1 of 2 rows`)
	call(t, failure, "predict model.bochner new.csv -o p.parquet"+flags)
}

// The message of init about an unusable file is correct: units, files of other columns, ends of lines.
func TestInitOfOddFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	units := "a,b,y\n"
	for i := range 40 {
		units += fmt.Sprintf("%d kg,%d,%d\n", i, i%7, i%3)
	}
	put(t, "units.csv", units)
	out, _ := call(t, success, "init units.csv")
	has(t, out, "Column a: numbers with the unit kg, such as 0 kg.")
	put(t, "p1.csv", "a,y\n1,2\n2,3\n")
	put(t, "p2.csv", "a,b,y\n1,2,3\n2,3,4\n")
	out, _ = call(t, success, "init p*.csv")
	has(t, out, `p2.csv: header must not have column "b", as in p1.csv`)
	put(t, "mac.csv", "a,y\r1,2\r2,3\r")
	_, errs := call(t, failure, "init mac.csv")
	has(t, errs, `mac.csv: lines must end with \n or \r\n, got \r alone`)
	put(t, "nul.csv", "a,y\n1,2\n2,3\x00\n3,4\n")
	out, _ = call(t, success, "init nul.csv")
	has(t, out, "nul.csv:3: NUL byte")
}

// TestQuietAndJSON checks that --quiet prints only requested output, and that --json prints only
// JSON.
func TestQuietAndJSON(t *testing.T) {
	t.Chdir(workplace(t))
	if out, errs := call(t, success, "run --quiet good.yaml"); out != "" || errs != "" {
		t.Errorf("printed %q and %q", out, errs)
	}
	out, errs := call(t, success, "run --quiet --json --force good.yaml --set data.split.test=0.25")
	if errs != "" {
		t.Errorf("printed %q", errs)
	}
	var result result.Result
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if result.Rows.Train != 30 || result.Rows.Test != 10 || result.Features != 3 || result.Task != "classification" ||
		result.Test["accuracy"] <= 0 {
		t.Errorf("the result is %+v", result)
	}
	onDisk, err := os.ReadFile("made/result.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(onDisk) != out {
		t.Error("result.json is not what --json prints")
	}
	for _, args := range []string{"plan good.yaml", "inspect model.bochner", "evaluate model.bochner rows.csv", "datasets",
		"validate good.yaml", "schema", "init rows.csv -o new.yaml", "predict model.bochner rows.csv -o p.csv"} {
		out, _ := call(t, success, "--json --quiet "+args)
		if !json.Valid([]byte(out)) {
			t.Errorf("%s: not JSON: %s", args, out)
		}
	}
	put(t, "wrong.yaml", "data: {}\npipeline: [nothing]\n")
	out, _ = call(t, failure, "--json validate wrong.yaml")
	var v verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	if v.Valid || len(v.Errors) != 2 || v.Errors[1].Line != 2 || v.Errors[1].Column != 12 {
		t.Errorf("the verdict is %+v", v)
	}
}

// Every command has help with an example, on standard output and with exit code 0.
func TestHelp(t *testing.T) {
	for _, name := range []string{"auto", "init", "validate", "plan", "run", "evaluate", "predict", "inspect", "schema",
		"datasets", "help", "version", "completion", "man"} {
		out, errs := call(t, success, name+" --help")
		has(t, out, "Usage: bochner "+name, "Example: bochner "+name)
		if errs != "" {
			t.Errorf("%s --help reports %q", name, errs)
		}
	}
	out, _ := call(t, success, "--help")
	has(t, out, "Usage: bochner <command>", "Example:")
	out, _ = call(t, success, "--version")
	has(t, out, "bochner ", "go1.")
}

// auto finds a model, prints its decisions and findings, and writes an experiment that reproduces
// the model. An interruption writes the best model so far, which is a success.
func TestAuto(t *testing.T) {
	workplace(t)
	out, _ := call(t, success, "auto rows.csv --target y --candidates 10 -o found")
	has(t, out, "target y: classification, classes no, yes\n", "8 held out, which no choice sees\n",
		"cleaned by columns (standardize; onehot)\n", " candidates in all; ", "chosen: ", "written: found/predictions.csv")
	inspected, _ := call(t, success, "inspect found")
	has(t, inspected, "fitted to ", "all 40 rows after its evaluation; the scores are those of a model of 32 training rows\n")
	inspected, _ = call(t, success, "--json inspect found")
	has(t, inspected, `"scored_rows": 32`, `"fitted_rows": 40`)
	call(t, success, "--quiet run found/experiment.yaml")
	inspected, _ = call(t, success, "inspect found/again")
	if strings.Contains(inspected, "fitted to") {
		t.Errorf("the model of the training rows is described as %s", inspected)
	}
	if one, two := content(t, "found/predictions.csv"), content(t, "found/again/predictions.csv"); one != two {
		t.Error("the experiment makes another model")
	}
	out, _ = call(t, success, "--json --quiet auto rows.csv --target y --candidates 10 -o found")
	var result result.Result
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.Auto == nil || result.Auto.Resumed == 0 ||
		result.Auto.Resumed != result.Auto.Candidates {
		t.Errorf("%v: %s", err, out)
	}
	text := "at,patient,a,y\n"
	for i := range 60 {
		text += fmt.Sprintf("%d,w%d,%d,%s\n", i/3, i%7, i*7%13, []string{"yes", "no"}[i*5%11%2])
	}
	put(t, "given.csv", text)
	call(t, success, "--quiet auto given.csv --target y --positive no --score f1 --group patient --time at --candidates 3 -o given")
	has(t, content(t, "given/experiment.yaml"), `positive: "no"`, "group: patient\n", "drop: [at]\n", "shuffle: false")
	ctx, cancel := context.WithCancel(t.Context())
	var cut, errs bytes.Buffer
	code := run(ctx, strings.Fields("auto rows.csv --target y --candidates 100000 -o cut"), &cut,
		heardBy(func(text string) {
			if strings.HasPrefix(text, "refit") { // the first model is about to be there
				time.AfterFunc(time.Second, cancel)
			}
			errs.WriteString(text)
		}))
	if code != success && !strings.Contains(errs.String(), "stopped before there was a first model") {
		t.Fatalf("code %d: %s", code, errs.String())
	}
	if code == success {
		has(t, cut.String(), "chosen: ", "written: cut/predictions.csv")
	}
}

// TestShowAuto checks that the selected recipe is followed by its parameters, which an ensemble
// does not have.
func TestShowAuto(t *testing.T) {
	found := result.Auto{Score: "r2", Recipe: "ensemble of one, another", Mean: 0.9, StdError: 0.01, Ended: "budget"}
	var out bytes.Buffer
	showAuto(&out, result.Result{Auto: &found})
	has(t, out.String(), "chosen: ensemble of one, another, r2 0.9 ± 0.01 over the folds\n")
	found.Params = map[string]any{"ridge.alpha": 2.5}
	out.Reset()
	showAuto(&out, result.Result{Auto: &found})
	has(t, out.String(), " over the folds, with\n  ridge.alpha  2.5\n")
	found.Mean, found.Optimism = 0.88, 0.02
	out.Reset()
	r := result.Result{Auto: &found, Files: []string{"runs/flats/report.html"}}
	r.LeftOut = []string{"importance of inputs", "learning curve"}
	showAuto(&out, r)
	has(t, out.String(), "left out of the report for lack of time: importance of inputs, learning curve; bochner report "+
		"runs/flats adds them\n")
	has(t, out.String(), "r2 0.88 ± 0.01 estimated for new rows (0.9 over the folds), with\n")
}

// heardBy is a writer that calls a function.
type heardBy func(text string)

func (w heardBy) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

// An interrupted run prints how to resume, exits with 130, and leaves its finished fits; the next run
// resumes them with the same result.
func TestInterruptAndResume(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", rows(400))
	put(t, "slow.yaml", "data: {train: rows.csv, target: y, split: {test: 0.2}}\npipeline: [{columns: [{select: "+
		"numeric, steps: [standardize]}]}, {rff: {features: 150}}, logistic]\nsearch: {grid: {rff.gamma: {log: [0.01, 10, "+
		"30]}, logistic.C: [0.1, 1, 10]}}\noutput: {dir: whole}\n")
	call(t, success, "run --quiet slow.yaml")

	ctx, cancel := context.WithCancel(context.Background())
	cut := &cutter{dir: "parts", cancel: cancel}
	var out strings.Builder
	code := run(ctx, strings.Fields("run slow.yaml --set output.dir=parts"), &out, cut)
	if code != canceled || out.String() != "" {
		t.Fatalf("exit code %d, printed %q", code, out.String())
	}
	has(t, cut.String(), "bochner: interrupted; run again to resume\n")
	entries, err := os.ReadDir("parts")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), ".journal") {
		t.Fatalf("left behind: %v", entries)
	}
	call(t, success, "run --quiet slow.yaml --set output.dir=parts")
	for _, name := range []string{"predictions.csv", "model.bochner"} {
		a, err := os.ReadFile("whole/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile("parts/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("%s is another after the interruption", name)
		}
	}
	if a, b := scores(t, "whole"), scores(t, "parts"); a != b {
		t.Errorf("result.json without times:\n%s\nand after the interruption\n%s", a, b)
	}
}

// cutter cancels the context when the search has started and the journal in dir contains fits.
type cutter struct {
	strings.Builder
	dir    string
	cancel func()
}

func (c *cutter) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "search") {
		go func() {
			for !c.begun() {
				time.Sleep(time.Millisecond)
			}
			c.cancel()
		}()
	}
	return c.Builder.Write(p)
}

// Runs are compared on the terminal, as JSON and as a page.
func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", rows(120))
	put(t, "spec.yaml", "data: {train: rows.csv, target: y, split: {test: 0.5}}\npipeline: [{columns: [{select: "+
		"numeric, steps: [standardize]}]}, {rff: {features: 20}}, logistic]\nsearch: {grid: {rff.gamma: [0.1, 1]}, folds: "+
		"3}\nreport: {html: false}\n")
	call(t, success, "run --quiet spec.yaml --set output.dir=runs/a")
	call(t, success, "run --quiet spec.yaml --set output.dir=runs/b --set rff.features=4")
	call(t, success, "run --quiet spec.yaml --set output.dir=runs/c --no-search")
	out, _ := call(t, success, "compare runs/a runs/b runs/c --html page.html")
	has(t, out, "3 runs, classification, 60 test rows", "pipeline.rff.features", "test: accuracy",
		"on the test rows, against a", "Holm's p", "McNemar", "on the folds, against a", "corrected resampled t",
		"note: The folds of a and c are not tested: c has no search.", "page.html written")
	page, err := os.ReadFile("page.html")
	if err != nil || !strings.Contains(string(page), "<h1>a, b and c</h1>") {
		t.Errorf("the page is %q, %v", page, err)
	}
	out, _ = call(t, success, "compare --json runs/a runs/b")
	var found result.Comparison
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Runs) != 2 || found.OnTestRows[0].Pairs != 60 ||
		len(found.OnFolds) != 1 {
		t.Errorf("%v: %s", err, out)
	}
	call(t, misuse, "compare")
}

// begun reports whether the journal has a few lines.
func (c *cutter) begun() bool {
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.journal"))
	if len(files) != 1 {
		return false
	}
	text, _ := os.ReadFile(files[0])
	return bytes.Count(text, []byte("\n")) > 3
}

// scores returns a result without values that differ between runs.
func scores(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(dir + "/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var r result.Result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	r.Seconds, r.Memory = result.Result{}.Seconds, 0
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Lines are for logs: one for each phase, and now and then how far it is.
func TestProgressLines(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	l := &lines{out: &b, now: func() time.Time { return now }}
	for done := range 101 {
		l.print("search", done, 100)
		now = now.Add(time.Second)
	}
	l.print("refit", 0, 0)
	if got := strings.Count(b.String(), "\n"); got != 12 {
		t.Errorf("%d lines, want 12:\n%s", got, b.String())
	}
	has(t, b.String(), "search\nsearch 10/100\n", "search 100/100\nrefit\n")
}

// The progress line of a search shows the best candidate so far within the width of the terminal,
// and clears itself.
func TestSearchLine(t *testing.T) {
	s := experiment.SearchProgress{Fits: 30, Of: 60, Candidates: 10, Metric: "r2", Best: 0.87654, Folds: 3,
		Settings: "rff.gamma=0.1", Rate: 2.5, Left: 12 * time.Second, Memory: 1 << 20}
	width := 200
	for _, bold := range []bool{false, true} {
		var b strings.Builder
		out := &bars{out: &b, bold: bold, width: func() int { return width }}
		out.search(s)
		want := "best r2 0.8765 on 3 folds"
		if bold {
			want = "\x1b[1m" + want + "\x1b[0m"
		}
		if got, want := b.String(), "\r\x1b[Ksearch ██████████░░░░░░░░░░ 30/60 fits · "+want+
			" · 12 s left · rff.gamma=0.1 · 2.5 candidates/s · 1.0 MiB"; got != want {
			t.Errorf("%q\nwant\n%q", got, want)
		}
		out.draw("search", 31, 60)
		out.draw("refit", 60, 60)
		has(t, b.String(), "1.0 MiB\r\x1b[K")
		out.clear()
	}
	var b strings.Builder
	width = 50
	(&bars{out: &b, width: func() int { return width }}).search(s)
	if n := len([]rune(strings.TrimPrefix(b.String(), "\r\x1b[K"))); n > 49 {
		t.Errorf("%d letters on a terminal of 50", n)
	}
	b.Reset()
	l := &lines{out: &b, now: func() time.Time { return time.Unix(int64(b.Len())*100, 0) }}
	l.print("search", 0, 60)
	l.search(s)
	l.print("search", 30, 60)
	has(t, b.String(), "search 30/60, best r2 0.8765 on 3 folds, 12 s left, rff.gamma=0.1\n")
}

// full is a writer that fails, like a full device.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestOutputErrors checks that a failure to write the output is an error of every command.
func TestOutputErrors(t *testing.T) {
	t.Chdir(workplace(t))
	for _, args := range []string{
		"validate good.yaml", "plan good.yaml", "run good.yaml", "inspect model.bochner", "evaluate model.bochner rows.csv",
		"predict model.bochner rows.csv", "init rows.csv -o -", "schema", "datasets", "--json datasets", "help", "help run",
		"--help", "version", "--version", "completion fish",
	} {
		var errs strings.Builder
		if code := run(context.Background(), strings.Fields("--quiet "+args), full{}, &errs); args != "validate good.yaml" &&
			args != "run good.yaml" && code != failure {
			t.Errorf("%s: exit code %d, want %d", args, code, failure)
		}
		errs.Reset()
		if code := run(context.Background(), strings.Fields(args), full{}, &errs); code != failure ||
			!strings.HasSuffix(errs.String(), "bochner: no space left on device\n") {
			t.Errorf("%s: exit code %d, want %d, and output %q", args, code, failure, errs.String())
		}
	}
}

// A search is left out by a flag, and extra columns of new rows by another.
func TestNoSearchAndDrop(t *testing.T) {
	t.Chdir(workplace(t))
	_, errs := call(t, success, "run good.yaml --set search.grid.logistic.C=[1,2] --set output.dir=out")
	has(t, errs, "search")
	if _, err := os.Stat("out/cv_results.csv"); err != nil {
		t.Error(err)
	}
	out, _ := call(t, success, "run good.yaml --force --set search.grid.logistic.C=[1,2] --no-search --set output.dir=out")
	if strings.Contains(out, "folds") {
		t.Errorf("it has searched:\n%s", out)
	}
	if _, err := os.Stat("out/cv_results.csv"); !os.IsNotExist(err) {
		t.Errorf("the table of the search before is there: %v", err)
	}
	out, _ = call(t, success, "run good.yaml --force --set search.folds=3 --set output.dir=out")
	has(t, out, "fixed pipeline × 3 folds")

	put(t, "wide.csv", "a,d,b,c,e\n1,x,2,red,0\n3,y,1,green,0\n")
	call(t, failure, "predict model.bochner wide.csv")
	out, _ = call(t, success, "predict model.bochner wide.csv --drop d,e")
	put(t, "narrow.csv", "a,b,c\n1,2,red\n3,1,green\n")
	if want, _ := call(t, success, "predict model.bochner narrow.csv"); out != want {
		t.Errorf("with columns dropped it predicts\n%s, want\n%s", out, want)
	}
	put(t, "true.csv", "a,d,b,c,y\n1,x,2,red,no\n3,y,1,green,yes\n")
	call(t, failure, "evaluate model.bochner true.csv")
	call(t, success, "evaluate model.bochner true.csv --drop d")
}

// TestInterruptedPrediction checks that only the message of an interrupted run has the remedy that it can be
// resumed.
func TestInterruptedPrediction(t *testing.T) {
	t.Chdir(workplace(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for args, want := range map[string]string{
		"--quiet predict model.bochner rows.csv -o p.csv": "bochner: interrupted\n",
		"evaluate --quiet model.bochner rows.csv":         "bochner: interrupted\n",
		"--quiet run good.yaml":                           "bochner: interrupted; run again to resume\n",
	} {
		var out, errs strings.Builder
		if code := run(ctx, strings.Fields(args), &out, &errs); code != canceled || errs.String() != want ||
			out.String() != "" {
			t.Errorf("%s: exit code %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
	if _, err := os.Stat("p.csv"); err == nil {
		t.Error("there is an output")
	}
}

// TestInspectShowsRelevance checks that the relevance that a step has learned is shown with
// the model, by the names of its input columns.
func TestInspectShowsRelevance(t *testing.T) {
	t.Chdir(workplace(t))
	put(t, "scales.yaml", "data: {train: rows.csv, target: y, task: classification}\npipeline: [{columns: [{select: "+
		"numeric, steps: [standardize]}, {select: categorical, steps: [onehot]}]}, {ard: {features: 20, steps: 3}}, {rff: "+
		"{gamma: 1, features: 10}}, logistic]\nsearch: {grid: {rff.gamma: [0.5, 1]}, folds: 2}\noutput: {dir: made}\n")
	out, _ := call(t, success, "plan scales.yaml")
	has(t, out, "ard")
	call(t, success, "run --quiet scales.yaml --set ard.groups=origin --set ard.power=0.5")
	out, _ = call(t, success, "inspect made/model.bochner")
	has(t, out, "input of ard", "relevance", "\nc             0.", "1.000", "groups: origin", "power: 0.5")
	out, _ = call(t, success, "inspect --json made/model.bochner")
	has(t, out, `"relevance"`, `"step": "ard"`, `"name": "c"`)
	out, _ = call(t, success, "inspect model.bochner")
	if strings.Contains(out, "relevance") {
		t.Errorf("a model without such a step has relevance:\n%s", out)
	}
}

// Only inputs that differ are listed.
func TestShowDrift(t *testing.T) {
	var b strings.Builder
	showDrift(&b, profile.Drift{Inputs: []profile.InputDrift{
		{Name: "colour", Kind: "categorical", Missing: 0.0001, Unknown: 0.25, PSI: 1.234, Drifted: true},
		{Name: "age", Kind: "numeric", Missing: 1, MissingTraining: 0.5, OutOfRange: 0.12, PSI: 0.5, Drifted: true},
		{Name: "same", Kind: "numeric"},
	}})
	want := `data drift: 2 of 3 inputs differ from the training data
input   missing  in training  unknown  outside  PSI
colour  < 0.1 %  0 %          25.0 %   –        1.23
age     100 %    50.0 %       –        12.0 %   0.50
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
