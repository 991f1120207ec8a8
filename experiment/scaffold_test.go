package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/internal/scaffold"
	"github.com/bochner-ml/bochner/internal/rows/reader"
)

// rowsOf is a CSV with a header and n rows.
func rowsOf(header string, n int, row func(i int) string) string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	return b.String()
}

// after replaces line number line, from 1, of a string.
func after(text string, line int, with string) string {
	lines := strings.Split(text, "\n")
	lines[line-1] = with
	return strings.Join(lines, "\n")
}

// shuffled is a number below n that is another one for every i below n.
func shuffled(i, n int) int { return rand.New(rand.NewPCG(1, 1)).Perm(n)[i] }

var yesNo = []string{"no", "yes"}

// drafts lists small files with lines that their drafts must and must not have.
var drafts = []struct {
	name, text string
	lines      []string
	not        []string
	remark     string // part of the report
}{
	{
		name:  "a row number, sorted with the class",
		text:  rowsOf("id,a,y", 200, func(i int) string { return fmt.Sprintf("%d,%d,%s", 5000+i, i*7%13, yesNo[i/100]) }),
		lines: []string{"  drop:", "    - id # counts the rows"}, remark: "Column id is dropped: counts the rows.",
	},
	{
		name: "an identifier without its name and in no order",
		text: rowsOf("ref,a,y", 200, func(i int) string {
			return fmt.Sprintf("%d,%d,%s", 1+shuffled(i, 200), i*7%13, yesNo[i/100])
		}),
		lines: []string{"    - ref # an identifier of the row: almost no value occurs twice"},
	},
	{
		name:  "an index that was saved along",
		text:  rowsOf(",a,y", 60, func(i int) string { return fmt.Sprintf("%d,%d,%s", i, i*7%13, yesNo[i%2]) }),
		lines: []string{"    - x0 # counts the rows"},
	},
	{
		name: "customers with several rows each",
		text: rowsOf("customer_id,a,y", 400, func(i int) string {
			return fmt.Sprintf("%d,%d,%s", 100+i%80*31, i*7%13, yesNo[i%3/2])
		}),
		lines: []string{"  group: customer_id # repeated: folds and test rows keep the rows of each value together"},
	},
	{
		name: "shops with many rows each",
		text: rowsOf("shop_id,a,y", 400, func(i int) string {
			return fmt.Sprintf("%d,%d,%s", 10+i%7, i*7%13, yesNo[i%3/2])
		}),
		lines: []string{"  kinds:", "    shop_id: categorical # called like an identifier: its numbers are names"},
	},
	{
		name:  "a word of its own in every row",
		text:  rowsOf("who,a,y", 60, func(i int) string { return fmt.Sprintf("u%d,%d,%s", i, i*7%13, yesNo[i%2]) }),
		lines: []string{"    - who # a different text in almost every row"},
	},
	{
		name: "measurements, prices, years and ages are no identifiers",
		text: rowsOf("size,cents,year,age,y", 200, func(i int) string {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			return fmt.Sprintf("%.6f,%d,%d,%d,%s", r.Float64(), 1000+r.IntN(2_000_000), 1990+i/10, 20+r.IntN(60), yesNo[i%2])
		}),
		not: []string{"    - size", "    - cents", "    - age"}, lines: []string{"  - standardize"},
	},
	{
		name: "one row a year",
		text: rowsOf("year,a,y", 30, func(i int) string { return fmt.Sprintf("%d,%d,%d.5", 1990+i, i*7%13, i%11) }),
		not:  []string{"drop:"},
	},
	{
		name:  "real numbers that rise are doubted and kept",
		text:  rowsOf("t,a,y", 80, func(i int) string { return fmt.Sprintf("%d.25,%d,%d.5", i, i*7%13, i%11) }),
		lines: []string{"  # ! Column t: it rises or falls from row to row; if it only counts rows or time, drop it."},
		not:   []string{"drop:"},
	},
	{
		name:  "constants",
		text:  rowsOf("a,b,c,y", 60, func(i int) string { return fmt.Sprintf("%d,7,x,%s", i*7%13, yesNo[i%2]) }),
		lines: []string{"    - b # the same value in every row", "    - c # the same value in every row"},
	},
	{
		name: "shares, gaps and levels of the last rows",
		text: rowsOf("a,y", 4000, func(i int) string {
			return fmt.Sprintf("%s,%s", []string{fmt.Sprint(i * 7 % 13), ""}[i/3999], yesNo[i/3000])
		}),
		lines: []string{"  task: classification # 2 classes: no 75.0 %, yes 25.0 %",
			"  split: {test: 0.2, stratify: true} # or  test: FILE", "# Missing values in a (1).",
			"  - impute: {strategy: median}"},
	},
	{
		name: "a target that is missing in some rows",
		text: rowsOf("a,y", 60, func(i int) string {
			return fmt.Sprintf("%d,%s", i*7%13, []string{"no", "yes", "?"}[i%12/5])
		}),
		lines: []string{"  missing_target: drop # 10 of 60 rows have no value of it", "  csv: {missing: '?'}",
			"  task: classification # 2 classes: no 50.0 %, yes 50.0 %"},
	},
	{
		name: "one bad value of the target",
		text: after(rowsOf("a,y", 60, func(i int) string { return fmt.Sprintf("%d,%d.5", i*7%13, i) }), 17, "3,unknown"),
		lines: []string{"  missing_target: drop # 1 of 60 rows have no value of it", "  csv: {missing: unknown}",
			"  task: regression", `  # ! The target: 1 of 60 values are no numbers, such as "unknown" on line 17; they are taken for missing values.`},
		remark: `such as "unknown" on line 17`,
	},
	{
		name: "a few words among numbers",
		text: after(after(rowsOf("a,y", 60, func(i int) string { return fmt.Sprintf("%d.5,%s", i*7%13, yesNo[i%2]) }), 20,
			"n/a,no"), 30, "-,no"),
		lines: []string{"  csv: {missing: ['-', n/a]}",
			`  # ! Column a: 2 of 60 values are no numbers, such as "n/a" on line 20; they are taken for missing values.`,
			"# Missing values in a (2)."},
	},
	{
		name:   "one class",
		text:   rowsOf("a,y", 60, func(i int) string { return fmt.Sprintf("%d,x", i*7%13) }),
		lines:  []string{"  # ! The target: there is one class only, x: nothing to learn; name another target."},
		remark: "one class only",
	},
	{
		name: "rows of other lengths",
		text: after(rowsOf("a,b,y", 60, func(i int) string { return fmt.Sprintf("%d,%d,%s", i*7%13, i%5, yesNo[i%2]) }), 9,
			"1,2"),
		lines:  []string{"# ! line 9 must have 3 fields, got 2, and 1 rows are like that; a run refuses them"},
		remark: "line 9 must have 3 fields, got 2",
	},
	{
		name:   "a quote that is left open",
		text:   after(rowsOf("a,y", 60, func(i int) string { return fmt.Sprintf("%d,%s", i*7%13, yesNo[i%2]) }), 50, `"1,no`),
		lines:  []string{"# ! reading stops here, and so will a run: rows.csv:50: quoted field is never closed"},
		remark: "reading stops here",
	},
	{
		name:  "a name that is there twice",
		text:  rowsOf("a,a,y", 60, func(i int) string { return fmt.Sprintf("%d,%d,%s", i*7%13, i%5, yesNo[i%2]) }),
		lines: []string{"  csv: {header: true, columns: [a, a_2, \"y\"]}"},
	},
	{
		name:  "decimal commas",
		text:  rowsOf("a;b;y", 60, func(i int) string { return fmt.Sprintf("%d,5;%d;%d,25", i*7%13, i*5%11, i) }),
		lines: []string{"  csv: {delimiter: ;, decimal: ','}", "  task: regression", "  - standardize"},
	},
	{
		name: "decimal commas without a header",
		text: rowsOf("1,5;2,25", 60, func(i int) string { return fmt.Sprintf("%d,5;%d,25", i*7%13, i) }),
		lines: []string{"  csv: {header: false, delimiter: ;, decimal: ','} # columns: [NAME, …] gives better names than " +
			"x0, x1, …", "  task: regression"},
	},
	{
		name:  "thousands",
		text:  rowsOf("a;y", 60, func(i int) string { return fmt.Sprintf("%d.%03d,5;%d,25", 1+i*7%13, i*i%1000, i) }),
		lines: []string{"  csv: {delimiter: ;, decimal: ',', thousands: .}"},
	},
	{
		name:  "thousands in quotes",
		text:  rowsOf("a,y", 60, func(i int) string { return fmt.Sprintf(`"%d,%03d",%d.25`, 1+i*7%13, i*i%1000, i) }),
		lines: []string{"  csv: {thousands: ','}"},
	},
	{
		name:  "units",
		text:  rowsOf("a,y", 60, func(i int) string { return fmt.Sprintf("$%d.%d0,%d.25", 1+i%12, i%3, i) }),
		lines: []string{"    a: {number: $} # numbers with the unit $, such as $1.00"},
	},
	{
		name: "Latin-1",
		text: latin1(rowsOf("größe,y", 60, func(i int) string {
			return fmt.Sprintf("%s,%s", []string{"groß", "klein"}[i%2], yesNo[i%3/2])
		})),
		lines: []string{"  csv: {encoding: latin-1}"},
	},
	{
		name: "Latin-1 in the last row",
		text: latin1(after(rowsOf("a,y", 9000, func(i int) string {
			return fmt.Sprintf("%s,%s", []string{"many letters here", "klein"}[i%2], yesNo[i%3/2])
		}), 9001, "groß,no")),
		lines: []string{"  csv: {encoding: latin-1}"},
	},
	{
		name: "Windows",
		text: rowsOf("a,y", 60, func(i int) string {
			return fmt.Sprintf("%s,%s", []string{"5 \x80", "klein"}[i%2], yesNo[i%3/2])
		}),
		lines: []string{"  csv: {encoding: windows-1252}"},
	},
	{
		name:  "two bytes a letter",
		text:  utf16le(rowsOf("größe;y", 60, func(i int) string { return fmt.Sprintf("%d,5;%s", i*7%13, yesNo[i%2]) })),
		lines: []string{"  csv: {delimiter: ;, encoding: utf-16, decimal: ','}"},
	},
	{
		name: "dates that begin with the year",
		text: rowsOf("when,y", 60, func(i int) string {
			return fmt.Sprintf("2024-%02d-%02dT%02d:00:00,%d.5", 1+i%12, 1+i%28, i%24, i)
		}),
		lines: []string{"  dates: # columns whose parts become numbers",
			"    when: [elapsed, month_sin, month_cos, day, weekday_sin, weekday_cos, hour_sin, hour_cos]"},
		not: []string{"order"},
	},
	{
		name:  "dates with the day first",
		text:  rowsOf("when,y", 60, func(i int) string { return fmt.Sprintf("%d/%d/20%02d,%d.5", 1+i%28, 1+i%12, i%20, i) }),
		lines: []string{"    when: {order: dmy, parts: [elapsed, month_sin, month_cos, day, weekday_sin, weekday_cos]}"},
		not:   []string{"# !"},
	},
	{
		name:  "dates with the month first",
		text:  rowsOf("when,y", 60, func(i int) string { return fmt.Sprintf("%d/%d/2024,%d.5", 1+i%12, 1+i%28, i) }),
		lines: []string{"    when: {order: mdy, parts: [elapsed, month_sin, month_cos, day, weekday_sin, weekday_cos]}"},
		not:   []string{"# !"},
	},
	{
		name: "dates of unknown notation",
		text: rowsOf("when,y", 60, func(i int) string { return fmt.Sprintf("%d/%d/2024,%d.5", 1+i%12, 1+i*7%12, i) }),
		lines: []string{"    # ! Column when: 1/1/2024 is ambiguous: the day or the month may be first; order is dmy or mdy.",
			"    when: {order: mdy, parts: [elapsed, month_sin, month_cos, day, weekday_sin, weekday_cos]}"},
	},
	{
		name: "dates with full stops, and one missing in words",
		text: after(rowsOf("when,y", 60, func(i int) string { return fmt.Sprintf("%d.%d.2024,%d.5", 1+i%28, 1+i%12, i) }), 9,
			"never,2.5"),
		lines: []string{"    when: [elapsed, month_sin, month_cos, day, weekday_sin, weekday_cos]", "  csv: {missing: never}",
			"# Missing values in when (1)."},
	},
	{
		name: "rows in the order of dates",
		text: rowsOf("when,y", 60, func(i int) string {
			return fmt.Sprintf("2024-01-%02d %02d:00,%d.5", 1+i/3, i%3, i*7%13)
		}),
		lines: []string{"  split: {test: 0.2, shuffle: false} # the last rows: they ascend by when; or  test: FILE",
			"  cv: {kind: time} # the test rows of a fold come after its training rows"},
		not:    []string{"elapsed"},
		remark: "The rows ascend by when: folds and test rows keep the order of time.",
	},
	{
		name: "rows in the order of dates with a trend",
		text: rowsOf("when,y", 60, func(i int) string {
			return fmt.Sprintf("2024-01-%02d %02d:00,%d.5", 1+i/3, i%3, i+i*7%13)
		}),
		lines: []string{"    when: [elapsed, day, weekday_sin, weekday_cos, hour_sin, hour_cos]"},
	},
	{
		name: "rows in the order of years and classes",
		text: rowsOf("year,a,y", 60, func(i int) string {
			return fmt.Sprintf("%d,%d,%s", 2010+i/20, i*7%13, yesNo[i%2])
		}),
		lines: []string{"  cv: {kind: time} # the test rows of a fold come after its training rows",
			"    - year # later rows are out of its range, and the target has no trend"}, not: []string{"stratify"},
	},
	{
		name: "rows in descending order of dates",
		text: rowsOf("when,y", 60, func(i int) string { return fmt.Sprintf("2024-02-%02d,%d.5", 28-i/3, i*7%13) }),
		lines: []string{"  # ! The rows descend by when: sort them ascending, and take search.cv: {kind: time} to score by " +
			"rows that come later."},
		not: []string{"  cv:"},
	},
	{
		name: "numbers with a unit, lists of labels and names",
		text: rowsOf("ram,genres,title,code,y", 300, func(i int) string {
			ranks, places := []string{"Senior", "Junior", "Chief"}, []string{"Engineer", "Clerk", "Nurse", "Pilot", "Tailor",
				"Baker", "Driver", "Teacher", "Lawyer", "Cook", "Judge", "Smith"}
			genres := []string{"War", "War|Noir", "Noir|Crime", "Crime", "War|Noir|Crime"}
			return fmt.Sprintf("%d GB,%s,%s %s,k%d,%d.5", 1<<(i%5), genres[i%5], ranks[i%3], places[i/3%12], i%40, i*7%13)
		}),
		lines: []string{"  kinds:", "    ram: {number: GB} # numbers with the unit GB, such as 1 GB",
			"    genres: {labels: '|'} # lists of labels: 3 labels in 5 distinct lists",
			"    title: name # 36 distinct values, 100 % share words with others: as categories and as text",
			"      - {select: text, steps: [{tfidf: {ngrams: [1, 2], min_count: 2, sublinear: true}}]} # 1 columns",
			"      - {select: categorical, steps: [onehot]} # 3 columns"},
		not: []string{"code: name"},
	},
	{
		name: "patients with several rows",
		text: rowsOf("patient_id,a,y", 200, func(i int) string {
			return fmt.Sprintf("%d,%d,%s", i*31%40, i*7%13, yesNo[i%2])
		}),
		lines: []string{"  group: patient_id # repeated: folds and test rows keep the rows of each value together",
			"  split: {test: 0.2} # of the groups; or  test: FILE"},
		not: []string{"stratify", "categorical", "drop:"},
	},
	{
		name: "text without shared words",
		text: rowsOf("note,a,y", 200, func(i int) string {
			return fmt.Sprintf("first%d second%d third%d fourth%d,%d,%s", i, i, i, i, i*7%13, yesNo[i%2])
		}),
		lines: []string{"    - note # text whose rows share no words, of which tf-idf makes no features"},
	},
	{
		name: "zip codes",
		text: rowsOf("zip,a,y", 200, func(i int) string {
			return fmt.Sprintf("%05d,%d,%s", 1000+i%9*1001, i*7%13, yesNo[i%2])
		}),
		lines: []string{"    zip: categorical # codes of 5 digits, some with zeros in front"},
	},
	{
		name:  "two classes far from equal",
		text:  rowsOf("a,y", 200, func(i int) string { return fmt.Sprintf("%d,%s", i*7%13, yesNo[i%20/19]) }),
		lines: []string{"  score: roc_auc"},
	},
	{
		name: "three classes far from equal",
		text: rowsOf("a,y", 300, func(i int) string {
			return fmt.Sprintf("%d,%s", i*7%13, []string{"a", "b", "c"}[(i%30+2)/30+i%60/59])
		}),
		lines: []string{"  - logistic: {class_weight: balanced}",
			"  score: balanced_accuracy"},
	},
	{
		name: "three rows",
		text: "a,y\n1,2.5\n2,3.5\n3,1.5\n",
		lines: []string{"  # With so few rows none are set aside to test on.",
			"# No search: 3 rows are too few to choose parameters by."},
		not: []string{"split", "\nsearch:", "drop:"},
	},
	{
		name:  "three rows of classes",
		text:  "a,y\n1,no\n2,yes\n4,yes\n",
		lines: []string{"  task: classification # 2 classes: no 33.3 %, yes 66.7 %"}, not: []string{"split", "\nsearch:"},
	},
	{
		name:  "three integers in three rows are no classes",
		text:  "a,y\n1,2\n2,3\n4,1\n",
		lines: []string{"  task: regression"},
	},
	{
		name:  "counts",
		text:  rowsOf("a,y", 300, func(i int) string { return fmt.Sprintf("%d.5,%d", i*7%13, i*i%29*(i%3)) }),
		lines: []string{"  - rff: {features: 500}", "  - ridge", "    ridge.alpha: {log: [1.0e-6, 100, 9]}", "  score: r2"},
	},
	{
		name:  "a number above the numbers of a column named by a word",
		text:  rowsOf("2019,2020,size", 60, func(i int) string { return fmt.Sprintf("%d.5,%d.5,%d.5", i%7, i%9, i*i) }),
		lines: []string{"  target: size"}, not: []string{"header"},
	},
}

// A draft describes all rows, is valid and can be run.
func TestDrafts(t *testing.T) {
	for _, c := range drafts {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			put(t, "rows.csv", c.text)
			var remarks []string
			text, err := scaffold.Experiment(context.Background(), "rows.csv",
				scaffold.Options{Remark: func(text string) { remarks = append(remarks, text) }})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.lines {
				if !strings.Contains("\n"+string(text), "\n"+want+"\n") {
					t.Errorf("no line %q in\n%s", want, text)
				}
			}
			for _, word := range c.not {
				if strings.Contains(string(text), word) {
					t.Errorf("%q is in\n%s", word, text)
				}
			}
			if !strings.Contains(strings.Join(remarks, "\n"), c.remark) {
				t.Errorf("remarks %q", remarks)
			}
			var o []Override
			if strings.Contains(string(text), "rff") {
				o = append(o, set("rff.features", "8"))
			}
			if strings.Contains(string(text), "\nsearch:") {
				o = append(o, set("search.random", "6"))
			}
			if strings.Contains(string(text), "halving:") {
				o = append(o, set("search.halving.min_resources", "4"))
			}
			s, err := Parse(context.Background(), "rows.yaml", text, o...)
			if err != nil {
				if c.remark == "" {
					t.Errorf("the draft is not valid: %v\n%s", err, text)
				}
				return
			}
			if _, err := Run(context.Background(), s, Options{}); err != nil && c.remark == "" {
				t.Errorf("the draft does not run: %v\n%s", err, text)
			}
		})
	}
}

// A draft of several targets, or of lists of labels, can be run; auto refuses them and names the way.
func TestDraftsOfSeveralTargets(t *testing.T) {
	lists := []string{"", "red", "red;green", "green;blue", "blue", "red;green;blue"}
	text := rowsOf("a,b,up,down,high,low,tags", 120, func(i int) string {
		a, b := i*7%13, i*5%11
		return fmt.Sprintf("%d,%d,%d.5,%d.5,%d,%s,%s", a, b, a+b, a-b, a/7, yesNo[b/6], lists[i%6])
	})
	for _, c := range []struct {
		name, target, task string
		lines              []string
		remark, err        string
	}{
		{name: "numbers", target: "up,down", lines: []string{`  target: ["up","down"]`, "  task: regression"}},
		{name: "labels", target: "high,low", lines: []string{`  target: ["high","low"]`, "  task: multilabel",
			"  score: f1_micro"}},
		{name: "labels as numbers", target: "high, up", task: "regression", lines: []string{`  target: ["high","up"]`}},
		{name: "lists", target: "tags", task: "multilabel", lines: []string{"  target: tags",
			"  labels: {delimiter: ;} # 3 labels; an empty list has none", "  task: multilabel"}},
		{name: "lists as classes", target: "tags", lines: []string{"  missing_target: drop # 20 of 120 rows have no value of it"},
			remark: "lists of labels, such as green;blue, and each list is taken for a class; bochner init --task multilabel"},
		{name: "no lists", target: "up", task: "multilabel", err: "must have lists such as red;green"},
		{name: "classes", target: "up,tags", err: "several targets must be numbers, or labels of two values each"},
		{name: "unknown", target: "up,over", err: `no column "up,over"`},
		{name: "clusters", target: "up,down", task: "clustering", err: "at most one target, got up, down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			put(t, "rows.csv", text)
			var remarks []string
			draft, err := scaffold.Experiment(context.Background(), "rows.csv", scaffold.Options{Target: c.target, Task: c.task,
				Remark: func(text string) { remarks = append(remarks, text) }})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.lines {
				if !strings.Contains("\n"+string(draft), "\n"+want+"\n") {
					t.Errorf("no line %q in\n%s", want, draft)
				}
			}
			if !strings.Contains(strings.Join(remarks, "\n"), c.remark) {
				t.Errorf("remarks %q", remarks)
			}
			s, err := Parse(context.Background(), "rows.yaml", draft, set("rff.features", "8"), set("search.random", "2"))
			if err != nil {
				t.Fatalf("%v\n%s", err, draft)
			}
			if _, err := Run(context.Background(), s, Options{}); err != nil {
				t.Errorf("the draft does not run: %v\n%s", err, draft)
			}
			if !strings.Contains(c.target, ",") {
				return
			}
			if _, err := Auto(context.Background(), "rows.csv", AutoOptions{Target: c.target, Candidates: 2}); err == nil ||
				!strings.Contains(err.Error(), "use bochner run with the experiment file that bochner init writes") {
				t.Errorf("auto: %v", err)
			}
		})
	}
	_, err := Auto(context.Background(), "rows.csv", AutoOptions{Task: "multilabel", Candidates: 2})
	if err == nil || !strings.Contains(err.Error(), "bochner init") {
		t.Errorf("auto of labels: %v", err)
	}
}

// The class and the missing value follow after 150,000 other rows.
func TestDraftOfALongFile(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", rowsOf("a,y", 200_000, func(i int) string {
		if i < 150_000 {
			return fmt.Sprintf("%d,no", i*7%13)
		}
		return []string{",yes", "5,yes"}[i%2]
	}))
	text, err := scaffold.Experiment(context.Background(), "rows.csv", scaffold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 classes: no 75.0 %, yes 25.0 %", "stratify: true", "# Missing values in a (25000).",
		"impute"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// An ARFF file has a draft as a CSV has.
func TestDraftOfARFF(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.arff", "@relation r\n@attribute id numeric\n@attribute a numeric\n@attribute c {u,v,w}\n@attribute y "+
		"{no,yes}\n@data\n"+
		strings.TrimPrefix(rowsOf("", 60, func(i int) string {
			return fmt.Sprintf("%d,%d,%s,%s", i, i*7%13, []string{"u", "v"}[i%2], []string{"no", "yes", "?"}[i%6/2])
		}), "\n"))
	text, err := scaffold.Experiment(context.Background(), "rows.arff", scaffold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"    - id # ", "  missing_target: drop # 20 of 60 rows have no value of it",
		"no 50.0 %, yes 50.0 %"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	put(t, "rows.yaml", string(text))
	s, err := Load(context.Background(), "rows.yaml", set("search", "null"))
	if err != nil {
		t.Fatal(err)
	}
	execute(t, s)
}

// TestNoDraft checks that a file without usable content is an error.
func TestNoDraft(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", "a,y\n")
	put(t, "empty.csv", "")
	put(t, "good.csv", "a,y\n1,2\n")
	for _, c := range []struct{ path, target, want string }{
		{"gone.csv", "", "no such file"},
		{"rows.csv", "", "no rows"},
		{"empty.csv", "", "no rows"},
		{"good.csv", "z", `target: no column "z"; there are a, y`},
	} {
		if _, err := scaffold.Experiment(context.Background(), c.path, scaffold.Options{Target: c.target}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
	if _, err := os.Stat("rows.yaml"); err == nil {
		t.Error("a draft writes nothing itself")
	}
}

// A target of dates, or of numbers in another notation, is refused unless the task is given.
func TestTargetsThatAreNotClasses(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := context.Background()
	var dates, prices strings.Builder
	for i := range 60 {
		fmt.Fprintf(&dates, "%d,2023-02-%02d\n", i%7, 1+i%20)
		fmt.Fprintf(&prices, "%d,\"$1,%03d.50\"\n", i%7, 100+i)
	}
	put(t, "dates.csv", "a,sold\n"+dates.String())
	put(t, "prices.csv", "a,price\n"+prices.String())
	for file, want := range map[string]string{
		"dates.csv": "the target sold must be classes or numbers, got dates such as 2023-02-01; take another target, or " +
			"give classification as the task",
		"prices.csv": `the target price must be classes or numbers, got "$1,100.50" and the like; write numbers without units and thousands separators, or give classification as the task`,
	} {
		_, drafted := scaffold.Experiment(ctx, file, scaffold.Options{})
		_, read := reader.Read(ctx, file, "")
		s, err := Parse(ctx, "spec.yaml", []byte("data: {train: "+file+"}\npipeline: [ridge_classifier]\n"))
		if err == nil {
			_, err = Run(ctx, s, Options{})
		}
		for how, err := range map[string]error{"init": drafted, "load": read, "run": err} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want %s", how, file, err, want)
			}
		}
		if _, err := scaffold.Experiment(ctx, file, scaffold.Options{Task: "classification"}); err != nil {
			t.Errorf("%s as classes: %v", file, err)
		}
	}
}

// TestDraftOfOddNames checks that drafts can be parsed, whatever the names of columns and
// missing-value markers.
func TestDraftOfOddNames(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := context.Background()
	long := strings.Repeat("long name ", 110)
	odd := func(word string) string {
		return rowsOf("a,b,y", 60, func(i int) string {
			if i%9 == 4 {
				return fmt.Sprintf("%q,%d,%d", word, i%7, i)
			}
			return fmt.Sprintf("%d.5,%d,%d", i, i%7, i)
		})
	}
	constant := strings.Repeat("c,", 40_000)
	for name, c := range map[string]struct{ text, message string }{
		"commas":  {odd("1,,5"), `missing: "1,,5"`},
		"bracket": {odd("1]"), `missing: "1]"`},
		"brace":   {odd("n}a"), `missing: "n}a"`},
		"kinds": {rowsOf(long+",y", 60, func(i int) string {
			return fmt.Sprintf("%s,%d", []string{"01001", "02002", "03003"}[i%3], i)
		}), "? " + long[:50]},
		"dates": {rowsOf(long+",y", 60, func(i int) string {
			return fmt.Sprintf("2024-%02d-%02d,%d", 1+i%12, 1+i%28, i)
		}), "? " + long[:50]},
		"constant": {"x," + strings.TrimSuffix(numbered(constant), ",") + ",y\n" +
			strings.Repeat("1,"+strings.Repeat("5,", 40_000)+"2\n7,"+strings.Repeat("5,", 40_000)+"4\n", 3),
			"40000 columns have the same value in every row"},
	} {
		put(t, "rows.csv", c.text)
		text, err := scaffold.Experiment(ctx, "rows.csv", scaffold.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(string(text), c.message) {
			t.Errorf("%s: no %s in\n%.3000s", name, c.message, text)
		}
		if _, err := Parse(ctx, "rows.yaml", text); err != nil {
			t.Errorf("%s: %v\n%.3000s", name, err, text)
		}
	}
}

// numbered appends a number to every c in a header.
func numbered(header string) string {
	var b strings.Builder
	for i, name := range strings.Split(header, ",") {
		if name != "" {
			fmt.Fprintf(&b, "%s%d,", name, i)
		}
	}
	return b.String()
}

// TestDraftOfIntegerLabels checks that the draft for an svmlight file with many integer labels notes that they
// are taken as numbers.
func TestDraftOfIntegerLabels(t *testing.T) {
	t.Chdir(t.TempDir())
	var rows strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rows, "%d 1:%d 2:%d\n", 1+i%26, i%26, i%7)
	}
	put(t, "letters.svm", rows.String())
	text, err := scaffold.Experiment(context.Background(), "letters.svm", scaffold.Options{})
	if err != nil || !strings.Contains(string(text), "task: regression # the labels are taken as numbers") {
		t.Errorf("%v\n%s", err, text)
	}
}
