package command

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the current messages to testdata/messages.txt")

// messageCase is an invalid input and its command. The message is in testdata/messages.txt under
// the name.
type messageCase struct {
	name  string
	files map[string]string // in addition to those of workplace
	args  string            // fields of the command line; "spec.yaml" is in files
	code  int
	setup func(t *testing.T)
}

// validate tests a message about the text of an experiment file.
func validate(name, text string) messageCase {
	return messageCase{name: name, files: map[string]string{"spec.yaml": text}, args: "validate spec.yaml", code: failure}
}

// about tests a message about one value of an otherwise good experiment file.
func about(name, section, text string) messageCase {
	sections := map[string]string{
		"data":     "data: {train: rows.csv, target: y, task: classification}",
		"pipeline": "pipeline: [{columns: [{select: numeric, steps: [standardize]}]}, {rff: {features: 10}}, logistic]",
	}
	order := []string{"data", "pipeline"}
	if sections[section] == "" {
		order = append(order, section)
	}
	sections[section] = text
	var lines []string
	for _, s := range order {
		lines = append(lines, sections[s])
	}
	return validate(name, strings.Join(lines, "\n")+"\n")
}

// data tests a message about rows, met by a run.
func data(name, file, rows, more string) messageCase {
	spec := "data: {train: " + file + ", target: y" + more +
		"}\npipeline: [{columns: [{select: numeric, steps: [standardize]}]}, logistic]\noutput: {dir: out}\n"
	if strings.HasSuffix(file, ".svm") {
		spec = strings.Replace(spec, ", target: y", "", 1)
	}
	return messageCase{name: name, files: map[string]string{"spec.yaml": spec, file: rows}, args: "run --quiet spec.yaml",
		code: failure}
}

// rows is a good file: two numbers, a string, and a class.
func rows(n int) string {
	var b strings.Builder
	b.WriteString("a,b,c,y\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%.1f,%s,%s\n", i, float64(i*7%11)/2, []string{"red", "green"}[i%2], []string{"no", "yes"}[i/2%2])
	}
	return b.String()
}

// packed returns a string as gzip.
func packed(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// with returns rows with the n-th line replaced.
func with(text string, n int, line string) string {
	lines := strings.Split(text, "\n")
	lines[n-1] = line
	return strings.Join(lines, "\n")
}

// gone returns rows without the values of a column.
func gone(text string, column int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines[1:] {
		if fields := strings.Split(line, ","); len(fields) > column {
			fields[column] = ""
			lines[i+1] = strings.Join(fields, ",")
		}
	}
	return strings.Join(lines, "\n")
}

var configMessages = []messageCase{
	validate("empty file", ""),
	validate("comments only", "# nothing yet\n"),
	validate("no mapping", "- data\n- pipeline\n"),
	validate("a string", "adult\n"),
	validate("a tab", "data:\n\ttrain: rows.csv\n"),
	validate("brackets left open", "data: {train: rows.csv\npipeline: [logistic]\n"),
	validate("two documents", "data: {train: rows.csv}\n---\ndata: {}\n"),
	validate("unknown key", "data: {train: rows.csv, target: y}\npipelin: [logistic]\npipeline: [logistic]\n"),
	validate("wrong case", "Data: {train: rows.csv, target: y}\npipeline: [logistic]\n"),
	validate("duplicate section", "seed: 1\ndata: {train: rows.csv, target: y}\npipeline: [logistic]\nseed: 2\n"),
	validate("no data", "pipeline: [logistic]\n"),
	validate("no pipeline", "data: {train: rows.csv, target: y}\n"),
	validate("a list as a section", "data: [rows.csv]\npipeline: [logistic]\n"),
	validate("aliases that grow",
		"a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, "+
			"*b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d, *d, *d, *d, *d, *d, "+
			"*d]\n"),
	validate("an alias of itself", "data: &d {train: *d}\npipeline: [logistic]\n"),
	validate("a name that is no text", "name: [a]\ndata: {train: rows.csv, target: y}\npipeline: [logistic]\n"),
	validate("intervals that are none",
		"data: {train: rows.csv, target: y}\npipeline: [logistic]\nintervals: {method: jackknif, level: 90, widht: 1}\n"),
	validate("intervals of another task",
		"data: {train: rows.csv, target: y}\npipeline: [logistic]\nintervals: {method: jackknife_plus}\n"),
	validate("intervals by quantiles of another model",
		"data: {train: rows.csv, target: a}\npipeline: [ridge]\nintervals: {method: cqr}\n"),
	validate("intervals by a column that is none",
		"data: {train: rows.csv, target: a}\npipeline: [ridge]\nintervals: {group: elsewhere}\n"),
	validate("intervals by the target",
		"data: {train: rows.csv, target: a}\npipeline: [ridge]\nintervals: {group: a}\n"),
	validate("jackknife by groups",
		"data: {train: rows.csv, target: a}\npipeline: [ridge]\nintervals: {method: jackknife, group: y}\n"),
	validate("intervals as a list", "data: {train: rows.csv, target: y}\npipeline: [logistic]\nintervals: [split]\n"),
	validate("a threshold by a score that reads scores",
		"data: {train: rows.csv, target: y}\npipeline: [{threshold: {score: roc_auc, cost: {false_positive: -1, "+
			"false_negativ: 2}, estimator: logistic}}]\n"),
	validate("a threshold by two things",
		"data: {train: rows.csv, target: y}\npipeline: [{threshold: {score: f1, cost: {false_positive: 2}, estimator: "+
			"logistic}}]\n"),
	validate("a negative seed", "seed: -1\ndata: {train: rows.csv, target: y}\npipeline: [logistic]\n"),
	validate("a seed in words", "seed: lucky\ndata: {train: rows.csv, target: y}\npipeline: [logistic]\n"),
	validate("several errors at once",
		"sed: 1\ndata:\n  train: nothing.csv\n  csv: {hedaer: true}\npipeline:\n  - rff: {gamma: 0, features: 0}\n  - "+
			"logistc\nsearch: {folds: 1, score: acuracy}\n"),

	about("no file and no dataset", "data", "data: {target: y}"),
	about("a file and a dataset", "data", "data: {train: rows.csv, dataset: iris}"),
	about("unknown data key", "data", "data: {train: rows.csv, targt: y}"),
	about("duplicate data key", "data", "data: {train: rows.csv, target: y, target: c}"),
	about("a number as a file", "data", "data: {train: 7}"),
	about("a file that does not exist", "data", "data: {train: row.csv, target: y}"),
	about("a folder as a file", "data", "data: {train: folder, target: y}"),
	about("an empty data file", "data", "data: {train: empty.csv, target: y}"),
	about("an unknown ending", "data", "data: {train: rows.xlsx, target: y}"),
	about("an unknown format", "data", "data: {train: rows.csv, format: excel}"),
	about("a file and a query", "data",
		"data: {train: rows.csv, sql: {url: 'sqlite:rows.db', train: select y from rows}}"),
	about("a password in the file", "data",
		"data: {sql: {url: 'postgres://me:secret@localhost/flats', train: select y from rows}}"),
	about("an environment variable that is not set", "data", "data: {sql: {url: $NOT_SET, train: select y from rows}}"),
	about("an unknown kind of database", "data",
		"data: {sql: {url: 'oracle://localhost/flats', train: select y from rows}}"),
	about("a database without a driver", "data", "data: {sql: {url: 'sqlite:none.db', train: select y from rows}}"),
	about("a database without a query", "data", "data: {sql: {url: 'postgres://localhost/flats'}}"),
	about("an unknown dataset", "data", "data: {dataset: irs}"),
	about("a target that is no column", "data", "data: {train: rows.csv, target: yy}"),
	about("a weight that is no column", "data", "data: {train: rows.csv, target: y, weight: importance}"),
	about("dropping what is not there", "data", "data: {train: rows.csv, target: y, drop: [a, z]}"),
	about("the target dropped", "data", "data: {train: rows.csv, target: y, drop: [y]}"),
	about("test file and split", "data", "data: {train: rows.csv, target: y, test: rows.csv, split: {test: 0.2}}"),
	about("a share above one", "data", "data: {train: rows.csv, target: y, split: {test: 1.5}}"),
	about("a test file with other columns", "data", "data: {train: rows.csv, target: y, test: other.csv}"),
	about("stratified quantities", "data",
		"data: {train: rows.csv, target: a, task: regression, split: {test: 0.2, stratify: true}}"),
	about("stratified groups", "data", "data: {train: rows.csv, target: y, group: c, split: {test: 0.2, stratify: true}}"),
	about("a wide delimiter", "data", "data: {train: rows.csv, target: y, csv: {delimiter: '||'}}"),
	about("a header in doubt", "data", "data: {train: rows.csv, target: y, csv: {header: maybe}}"),
	about("too few column names", "data", "data: {train: rows.csv, target: y, csv: {columns: [a, b, y]}}"),
	about("dropping what neither file has", "data",
		"data: {train: rows.csv, target: y, test: other.csv, drop: [c, d, e]}"),
	about("an unknown kind", "data", "data: {train: rows.csv, target: y, kinds: {a: number}}"),
	about("an unknown task", "data", "data: {train: rows.csv, target: y, task: ranking}"),

	about("no steps", "pipeline", "pipeline: []"),
	about("a mapping as a pipeline", "pipeline", "pipeline: {logistic: {C: 1}}"),
	about("no estimator", "pipeline", "pipeline: [standardize]"),
	about("an estimator amid steps", "pipeline", "pipeline: [logistic, standardize, logistic]"),
	about("an unknown step", "pipeline", "pipeline: [standardise, logistic]"),
	about("an unknown parameter", "pipeline", "pipeline: [{rff: {gama: 1}}, logistic]"),
	about("a negative width", "pipeline", "pipeline: [{rff: {gamma: -0.5}}, logistic]"),
	about("gamma of zero", "pipeline", "pipeline: [{rff: {gamma: 0}}, logistic]"),
	about("gamma in words", "pipeline", "pipeline: [{rff: {gamma: wide}}, logistic]"),
	about("no features", "pipeline", "pipeline: [{rff: {features: 0}}, logistic]"),
	about("half a feature", "pipeline", "pipeline: [{rff: {features: 10.5}}, logistic]"),
	about("an unknown kernel", "pipeline", "pipeline: [{rff: {kernel: gausian}}, logistic]"),
	about("one quantile", "pipeline", "pipeline: [{quantile: {quantiles: 1, output: gaussian}}, logistic]"),
	about("half an input", "pipeline", "pipeline: [{binning: {inputs: 1.5, input_weights: scale}}, logistic]"),
	about("more inputs than columns", "pipeline",
		"pipeline: [{columns: [{select: numeric, steps: [{binning: {inputs: 9}}]}]}, logistic]"),
	about("two steps of one name", "pipeline", "pipeline: [{rff: {gamma: 1}}, {rff: {gamma: 2}}, logistic]"),
	about("a parameter not indented", "pipeline", "pipeline:\n  - rff:\n    gamma: 1\n  - logistic"),
	about("candidates in a step", "pipeline", "pipeline: [{logistic: {C: [1, 10]}}]"),
	about("a tolerance in words", "pipeline", "pipeline: [{logistic: {tol: fine}}]"),
	about("a switch in words", "pipeline", "pipeline: [{logistic: {intercept: 'yes'}}]"),
	about("an estimator of numbers for classes", "pipeline", "pipeline: [standardize, ridge]"),

	about("strings for a map", "pipeline", "pipeline: [{rff: {gamma: 1}}, logistic]"),
	about("strings in a group", "pipeline", "pipeline: [{columns: [{select: '*', steps: [minmax]}]}, logistic]"),
	about("numbers for levels", "pipeline", "pipeline: [onehot, logistic]"),
	about("a mean of strings", "pipeline", "pipeline: [impute, logistic]"),
	about("a group of no columns", "pipeline", "pipeline: [{columns: [{select: d, steps: [standardize]}]}, logistic]"),
	about("an unknown precision", "precision", "precision: float16"),

	about("a short path in the grid", "search", "search: {grid: {standardize.mean: [true, false]}}"),
	about("a path without its group", "search", "search: {grid: {columns.standardize.mean: [true, false]}}"),
	about("an unknown path in the grid", "search", "search: {grid: {rff.gama: [1]}}"),
	about("a value out of range in the grid", "search", "search: {grid: {logistic.C: [1, -1]}}"),
	about("logarithms from zero", "search", "search: {grid: {logistic.C: {log: [0, 1, 3]}}}"),
	about("two bounds", "search", "search: {grid: {logistic.C: {log: [1, 10]}}}"),
	about("an unknown spacing", "search", "search: {grid: {logistic.C: {logg: [1, 10, 3]}}}"),
	about("one value for an axis", "search", "search: {grid: {logistic.C: 1}}"),
	about("no values for an axis", "search", "search: {grid: {logistic.C: []}}"),
	about("a value twice", "search", "search: {grid: {logistic.C: [1, 10, 1.0]}}"),
	about("an axis twice", "search", "search: {grid: {logistic.C: [1], logistic.C: [2]}}"),
	about("a list as a grid", "search", "search: {grid: [logistic.C]}"),
	about("too many candidates", "search",
		"search: {grid: {rff.gamma: {log: [1, 2, 5000]}, logistic.C: {log: [1, 2, 5000]}}}"),
	about("one fold", "search", "search: {folds: 1}"),
	about("folds twice", "search", "search: {folds: 3, cv: {folds: 4}}"),
	about("an unknown score", "search", "search: {score: acuracy}"),
	about("a score for the other task", "search", "search: {score: r2}"),
	about("an unknown refit", "search", "search: {refit: first}"),
	about("groups that are not given", "search", "search: {cv: {kind: group}}"),
	about("a negative number of candidates", "search", "search: {random: -1}"),
	about("a budget without a unit", "search", "search: {budget: 10}"),
	about("a budget of nothing", "search", "search: {budget: 0s}"),
	about("halving without a beginning", "search", "search: {halving: {factor: 3}}"),
	about("halving by one", "search", "search: {halving: {min_resources: 10, factor: 1}}"),
	about("halving downwards", "search", "search: {halving: {min_resources: 100, max_resources: 10}}"),
	about("halving of a word", "search", "search: {halving: {min_resources: 10, resource: rff.kernel}}"),
	about("halving of what there is not", "search", "search: {halving: {min_resources: 10, resource: rff.feature}}"),
	about("halving of an axis", "search",
		"search: {grid: {rff.features: [10, 20]}, halving: {min_resources: 10, resource: rff.features}}"),
	about("halving without folds", "search", "search: {cv: {kind: loo}, halving: {min_resources: 10}}"),
	about("rounds over a grid", "search", "search: {rounds: 2}"),
	about("no round along the axes", "search", "search: {strategy: coordinate, rounds: 0}"),
	about("an unknown strategy", "search", "search: {strategy: coordinates}"),
	about("random candidates along the axes", "search", "search: {strategy: coordinate, random: 5}"),
	about("halving along the axes", "search", "search: {strategy: coordinate, halving: {min_resources: 10}}"),
	about("an unknown search key", "search", "search: {grids: {}}"),
	about("output that is a string", "output", "output: runs"),

	about("probabilities that the model has not", "pipeline", numeric("svm")+"search: {score: log_loss}"),
	about("a score of two classes for three", "data", "data: {dataset: iris}\nsearch: {score: f1}"),
	about("a score of numbers for classes, which are not named", "data",
		"data: {train: rows.csv, target: y}\nsearch: {score: r2}"),
	about("a score of classes for numbers", "pipeline", numeric("ridge")+"search: {score: f1}\n#"),
	about("classes for a regression", "data", "data: {train: rows.csv, target: y, task: regression}"),
	about("more folds than a class has rows", "search", "search: {folds: 21}"),
	about("more folds than rows", "search", "search: {cv: {kind: kfold, folds: 50}}"),
	about("more folds than groups", "data",
		"data: {train: rows.csv, target: y, task: classification, group: c}\nsearch: {folds: 3}"),
	about("leave-one-out of a logistic regression", "search", "search: {cv: {kind: loo}}"),
	about("halving from more rows than there are", "search", "search: {halving: {min_resources: 1000}}"),
	about("errors of every kind at once", "data",
		"data: {train: gaps.csv, target: y, task: classification, test: stray.csv}\nsearch: {folds: 30, score: r2}"),

	validate("a model for clusters and another task", "data: {train: rows.csv, target: y, task: classification}\n"+
		numeric("kmeans")),
	validate("another model for clusters", "data: {train: rows.csv, task: clustering}\n"+numeric("logistic")),
	validate("a model for clusters and the task of anomalies", "data: {train: rows.csv, task: anomaly}\n"+
		numeric("kmeans")),
	validate("a step that learns from targets before clusters", "data: {train: rows.csv}\n"+numeric("ard, kmeans")),
	validate("clusters in an ensemble", "data: {train: rows.csv, target: y}\n"+
		numeric("{ensemble: {estimator: kmeans, seeds: 3}}")),
	validate("labels in one column", "data: {train: rows.csv, target: y, task: multilabel}\n"+numeric("logistic")),
	validate("a label of many values", "data: {train: rows.csv, target: [a, y], task: multilabel}\n"+
		numeric("logistic")),
	validate("labels of a model of one target", "data: {train: rows.csv, target: [c, y], task: multilabel}\n"+
		numeric("kernel_svm")),
	validate("labels scored as classes", "data: {train: rows.csv, target: [c, y], task: multilabel}\n"+
		numeric("logistic")+"search: {score: accuracy}\n"),
	validate("lists of labels in two columns", "data: {train: rows.csv, target: [c, y], labels: {delimiter: \"|\"}}\n"+
		numeric("logistic")),
	validate("clusters scored by several targets", "data: {train: rows.csv, target: [a, b]}\n"+numeric("kmeans")),
	validate("clusters scored by a target that is not there", "data: {train: rows.csv, target: z}\n"+numeric("kmeans")),
	validate("clusters scored by a target that is not named",
		"data: {train: rows.csv, split: {test: 0.5, stratify: true}}\n"+numeric("kmeans")+
			"search: {grid: {kmeans.clusters: [2, 3]}, cv: {kind: stratified}, score: nmi}\n"),
	validate("clusters scored as classes", "data: {train: rows.csv, target: y}\n"+numeric("kmeans")+
		"search: {score: accuracy}\n"),
	validate("leaving one row out of clusters", "data: {train: rows.csv, target: y}\n"+numeric("kmeans")+
		"search: {cv: {kind: loo}}\n"),
	validate("clusters of strings", "data: {train: rows.csv}\npipeline: [standardize, kmeans]\n"),
	validate("anomalies searched for without a target", "data: {train: rows.csv, positive: y}\n"+numeric("one_class")+
		"search: {grid: {one_class.nu: [0.1, 0.2]}}\n"),
	validate("anomalies of many kinds", "data: {train: rows.csv, target: a}\n"+numeric("one_class")),

	{name: "no such spec", args: "validate nowhere.yaml", code: failure},
	{name: "a folder as a spec", args: "validate folder", code: failure},
	{name: "an override of nothing", args: "validate good.yaml --set rff.gama=1", code: failure},
	{name: "an override out of range", args: "validate good.yaml --set rff.gamma=-1", code: failure},
	{name: "an override of a list", args: "validate good.yaml --set pipeline=[ridge]", code: failure},
	{name: "an override of a section", args: "validate good.yaml --set data.csv={}", code: failure},
	{name: "an override of a step", args: "validate good.yaml --set rff=1", code: failure},
	{name: "an override of a short path", args: "validate good.yaml --set standardize.mean=maybe", code: failure},
	{name: "an axis by a short path", args: "validate good.yaml --set search.grid.standardize.mean=[true]", code: failure},
	{name: "a grid that is a list", args: "validate good.yaml --set search.grid=[1]", code: failure},
	{name: "an unknown precision, overridden", args: "validate good.yaml --set precision=half", code: failure},
	{name: "an override that is no YAML", args: "validate good.yaml --set rff.gamma=[", code: failure},
	{name: "an override of a file", args: "validate good.yaml --set data.train=gone.csv", code: failure},
	{name: "an override of an axis", args: "validate good.yaml --set search.grid.logistic.C=[0]", code: failure},
	{name: "a streamed search", args: "validate good.yaml --set data.stream=always --set search.cv.kind=time --set " +
		"search.halving.min_resources=10", code: failure},
}

// numeric is a pipeline for the numbers of rows, with a model.
func numeric(model string) string {
	return "pipeline: [{columns: [{select: numeric, steps: [standardize]}]}, " + model + "]\n"
}

// given is an error of validate about rows.
func given(name, rows, more string) messageCase {
	c := data(name, "bad.csv", rows, more)
	c.args = "validate spec.yaml"
	return c
}

var dataMessages = []messageCase{
	given("text in another encoding", with(rows(40), 4, "1,2,caf\xe9,no"), ""),
	given("a name in another encoding", with(rows(40), 1, "a,b,caf\xe9,y"), ""),
	given("a column without values", gone(rows(40), 1), ""),
	given("values missing in two columns", with(with(rows(40), 4, "1,,red,no"), 5, ",2,red,no"), ""),
	given("weights that are missing or negative", with(with(rows(40), 4, "1,-2,red,no"), 5, "1,,red,no"), ", weight: b"),
	given("weights of nothing", strings.NewReplacer("0.0", "0", "0.5", "0", "1.0", "0", "1.5", "0", "2.0", "0", "2.5", "0",
		"3.0", "0", "3.5", "0", "4.0", "0", "4.5", "0", "5.0", "0").Replace(rows(40)), ", weight: b"),
	given("a group that is missing", with(rows(40), 4, "1,2,,no"), ", group: c"),
	given("errors in several columns", with(with(with(rows(40), 4, "one,2,red,no"), 6, "1,two,red,no"), 9, "1,2,red,"),
		""),
	given("a class of one row, stratified", with(rows(40), 4, "1,2,red,perhaps"), ", split: {test: 0.5, stratify: true}"),
	{name: "a test file with errors", args: "validate good.yaml --set data.test=bad.csv", code: failure,
		files: map[string]string{"bad.csv": with(with(with(rows(40), 4, "1,2,red,perhaps"), 6, "1,two,red,no"), 7,
			"1,,red,no")}},
	{name: "a test file without the target", args: "validate good.yaml --set data.test=bad.csv", code: failure,
		files: map[string]string{"bad.csv": "a,b,c\n1,2,red\n"}},
	{name: "a level that training did not have", args: "validate ordinal.yaml", code: failure,
		files: map[string]string{"test.csv": with(rows(40), 4, "1,2,blue,no"),
			"ordinal.yaml": "data: {train: rows.csv, target: y, test: test.csv}\npipeline: [{columns: [{select: numeric, " +
				"steps: [standardize]}, {select: c, steps: [ordinal]}]}, logistic]\n"}},
	{name: "results of a different run", args: "run --quiet good.yaml --set rff.features=12 --set data.split.test=0.5",
		code: failure, setup: func(t *testing.T) {
			var out, errs strings.Builder
			if code := run(context.Background(), []string{"run", "--quiet", "good.yaml"}, &out, &errs); code != success {
				t.Fatalf("exit code %d: %s", code, errs.String())
			}
		}},
	data("a ragged row", "bad.csv", with(rows(40), 4, "1,2,red"), ""),
	data("a string among numbers", "bad.csv", with(rows(40), 4, "1,two,red,no"), ""),
	data("no value for the target", "bad.csv", with(rows(40), 4, "1,2,red,"), ""),
	data("NaN for the target", "bad.csv", strings.NewReplacer(",yes", ",1.5", ",no",
		",2.5").Replace(with(rows(40), 4, "1,2,red,nan")), ""),
	data("one class", "bad.csv", strings.ReplaceAll(rows(40), "yes", "no"), ""),
	data("a header alone", "bad.csv", "a,b,c,y\n", ""),
	data("a value missing", "bad.csv", with(rows(40), 4, "1,,red,no"), ""),
	data("an infinite value", "bad.csv", with(rows(40), 4, "1,inf,red,no"), ""),
	data("a negative weight", "bad.csv", with(rows(40), 4, "1,-2,red,no"), ", weight: b"),
	data("two columns of one name", "bad.csv", with(rows(40), 1, "a,a,c,y"), ""),
	data("a quote left open", "bad.csv", with(rows(40), 4, `1,2,"red,no`), ""),
	data("quantities for classes", "bad.csv", strings.NewReplacer(",yes", ",1.5", ",no", ",2.5").Replace(rows(40)), ""),
	{name: "strings as numbers", args: "run --quiet plain.yaml", code: failure,
		files: map[string]string{"plain.yaml": "data: {train: rows.csv, target: y}\npipeline: [logistic]\noutput: {dir: " +
			"out}\n"}},
	data("too few rows to split", "bad.csv", rows(1), ", split: {test: 0.5}"),
	data("a bad pair", "bad.svm", "1 1:2 2:x\n-1 1:3\n", ""),
	data("pairs out of order", "bad.svm", "1 2:1 1:2\n-1 1:3\n", ""),
	data("an unknown attribute type", "bad.arff", "@relation r\n@attribute a colour\n@attribute y {no,yes}\n@data\n1,no\n",
		""),
	data("a level that is not declared", "bad.arff",
		"@relation r\n@attribute a numeric\n@attribute y {no,yes}\n@data\n1,no\n2,perhaps\n", ""),
	data("a gzip cut off", "bad.csv.gz", packed(rows(4000))[:500], ""),
	{name: "fewer rows than folds", args: "run --quiet good.yaml --set search.folds=30", code: failure},
	{name: "a score for the other task, inferred",
		args: "run --quiet good.yaml --set data.task=auto --set search.score=r2", code: failure},
	{name: "a class that training did not have", args: "run --quiet good.yaml --set data.test=stranger.csv", code: failure,
		files: map[string]string{"stranger.csv": with(rows(40), 4, "1,2,red,perhaps")}},
	{name: "output below a file", args: "run --quiet good.yaml --set output.dir=rows.csv/out", code: failure},
	{name: "a plan for more memory than there is", args: "plan --quiet good.yaml --set rff.features=500000", code: failure,
		setup: littleMemory},
	{name: "a run with more memory than there is", args: "run --quiet good.yaml --set rff.features=500000", code: failure,
		setup: littleMemory},
}

// littleMemory leaves 100 MiB.
func littleMemory(t *testing.T) {
	before := debug.SetMemoryLimit(100 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
}

// compared makes runs that cannot be compared: on other rows, for another target, and with damaged predictions.
func compared(t *testing.T) {
	for _, args := range []string{"seed=0 --set output.dir=runs/a", "seed=1 --set output.dir=runs/b",
		"data.target=c --set output.dir=runs/c", "seed=0 --set output.dir=runs/d"} {
		var out, errs strings.Builder
		if code := run(context.Background(),
			strings.Fields("run --quiet good.yaml --set report.html=false --set data.split.test=0.5 --set "+args), &out,
			&errs); code != success {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
	}
	put(t, "runs/d/result.json", "{")
}

var modelMessages = []messageCase{
	{name: "a run that is none", args: "compare folder gone", code: failure},
	{name: "one run", args: "compare folder", code: failure},
	{name: "runs of other questions", args: "compare runs/a runs/b runs/c runs/d", code: failure, setup: compared},
	{name: "no such model", args: "inspect gone.bochner", code: failure},
	{name: "a string as a model", args: "inspect rows.csv", code: failure},
	{name: "a JSON array as a model", args: "predict list.json rows.csv", code: failure,
		files: map[string]string{"list.json": "[{\"a\": 1}]\n"}},
	{name: "a workbook as a model", args: "export book.xlsx -o m.onnx", code: failure,
		files: map[string]string{"book.xlsx": workbook}},
	{name: "a folder without a model", args: "evaluate --quiet folder rows.csv", code: failure},
	{name: "an explanation without training rows", args: "explain model.bochner rows.csv", code: failure},
	{name: "an explanation in an unknown format", args: "explain model.bochner rows.csv -o plot.png", code: failure},
	{name: "an explanation by no rows", args: "explain model.bochner rows.csv --background 0", code: misuse},
	{name: "an unknown method", args: "explain model.bochner rows.csv --method exakt", code: misuse},
	{name: "rows as a workbook", args: "predict model.bochner book.xlsx", code: failure,
		files: map[string]string{"book.xlsx": workbook}},
	{name: "rows as a workbook called CSV", args: "run --quiet good.yaml --set data.train=book.csv", code: failure,
		files: map[string]string{"book.csv": workbook}},
	{name: "rows as a JSON array", args: "auto --quiet list.json", code: failure,
		files: map[string]string{"list.json": "[\n {\"a\": 1},\n {\"a\": 2}\n]\n"}},
	{name: "a model as rows", args: "init model.bochner -o new.yaml", code: failure},
	{name: "an empty field where training had none", args: "predict model.bochner hole.csv", code: failure,
		files: map[string]string{"hole.csv": "a,b,c\n1,2,red\n\n1,,red\n"}},
	{name: "an empty field to evaluate", args: "evaluate --quiet model.bochner hole.csv", code: failure,
		files: map[string]string{"hole.csv": "a,b,c,y\n1,2,red,no\n1,,red,yes\n"}},
	{name: "an empty model", args: "inspect empty.csv", code: failure},
	{name: "a model cut off", args: "predict cut.bochner rows.csv", code: failure, setup: func(t *testing.T) {
		change(t, "cut.bochner", func(b []byte) []byte { return b[:len(b)/2] })
	}},
	{name: "a flipped bit", args: "predict flipped.bochner rows.csv", code: failure, setup: func(t *testing.T) {
		change(t, "flipped.bochner", func(b []byte) []byte { b[len(b)/3] ^= 4; return b })
	}},
	{name: "a model from the future", args: "predict future.bochner rows.csv", code: failure, setup: func(t *testing.T) {
		change(t, "future.bochner", func(b []byte) []byte {
			return reindex(t, b, func(doc []byte) []byte {
				return bytes.Replace(doc, []byte(`"format": 1`),
					[]byte(`"format": 99`), 1)
			})
		})
	}},
	{name: "a model with an unknown step", args: "predict forest.bochner rows.csv", code: failure,
		setup: func(t *testing.T) {
			change(t, "forest.bochner", func(b []byte) []byte {
				return reindex(t, b, func(doc []byte) []byte {
					return bytes.Replace(doc, []byte(`"logistic/kind": "logistic"`), []byte(`"logistic/kind": "forest"`), 1)
				})
			})
		}},
	{name: "rows that do not exist", args: "predict model.bochner gone.csv", code: failure},
	{name: "a missing column", args: "predict model.bochner short.csv", code: failure,
		files: map[string]string{"short.csv": "a,y\n1,no\n"}},
	{name: "an extra column", args: "predict model.bochner wide.csv", code: failure,
		files: map[string]string{"wide.csv": "a,b,c,d\n1,2,red,4\n"}},
	{name: "dropping another column", args: "predict model.bochner wide.csv --drop e", code: failure,
		files: map[string]string{"wide.csv": "a,b,c,d\n1,2,red,4\n"}},
	{name: "dropping what the model needs", args: "predict model.bochner wide.csv --drop d --drop a", code: failure,
		files: map[string]string{"wide.csv": "a,b,c,d\n1,2,red,4\n"}},
	{name: "a string where the model has numbers", args: "predict model.bochner text.csv", code: failure,
		files: map[string]string{"text.csv": "a,b,c\n1,2,red\n1,two,red\n"}},
	{name: "rows without a target to evaluate", args: "evaluate --quiet model.bochner blind.csv", code: failure,
		files: map[string]string{"blind.csv": "a,b,c\n1,2,red\n"}},
	{name: "a class the model does not know", args: "evaluate --quiet model.bochner stranger.csv", code: failure,
		files: map[string]string{"stranger.csv": "a,b,c,y\n1,2,red,perhaps\n"}},
	{name: "rows that lack the target to evaluate", args: "evaluate --quiet model.bochner some.csv", code: failure,
		files: map[string]string{"some.csv": "a,b,c,y\n1,2,red,\n1,2,red,yes\n\n1,2,red,\n1,2,red,\n"}},
	{name: "evaluating without the target", args: "evaluate --quiet model.bochner rows.csv --drop y", code: failure},
	{name: "keeping a column that is not there", args: "predict model.bochner rows.csv --keep id", code: failure},
	{name: "keeping a column called as one of the output", args: "predict model.bochner own.csv --keep row", code: failure,
		files: map[string]string{"own.csv": "row,a,b,c\n7,1,2,red\n"}},
	{name: "a marker that the model does not know", args: "predict model.bochner marked.csv", code: failure,
		files: map[string]string{"marked.csv": "a,b,c\n1,NA,red\n"}},
	{name: "a delimiter of two characters", args: "predict model.bochner rows.csv --delimiter ;;", code: failure},
	{name: "rows of another format", args: "predict model.bochner rows.csv --format arff", code: failure},
	{name: "rows without a header", args: "predict model.bochner bare.csv --no-header", code: failure,
		files: map[string]string{"bare.csv": "1,2,red\n"}},
	{name: "several columns missing and more", args: "predict model.bochner other.csv", code: failure,
		files: map[string]string{"other.csv": "b,d,e\n1,2,3\n"}},
	{name: "predictions over their rows", args: "predict --quiet model.bochner rows.csv -o rows.csv", code: failure},
	{name: "predictions over their model", args: "predict --quiet model.bochner rows.csv -o ./model.bochner",
		code: failure},
	{name: "a folder that does not exist", args: "predict --quiet model.bochner rows.csv -o nowhere/p.csv", code: failure},
	{name: "a folder as the output", args: "predict --quiet model.bochner rows.csv -o folder", code: failure},
	{name: "an output without a name", args: "predict --quiet model.bochner rows.csv --out=", code: failure},
	{name: "a full disk", args: "predict --quiet model.bochner rows.csv -o p.csv", code: failure,
		setup: fullDisk("p.csv")},
	{name: "init by force on a full disk", args: "init rows.csv --force -o new.yaml", code: failure,
		setup: fullDisk("new.yaml")},
	{name: "init of nothing", args: "init gone.csv", code: failure},
	{name: "init over a file", args: "init rows.csv -o good.yaml", code: failure},
	{name: "init with an unknown format", args: "init rows.csv --format excel -o -", code: failure},
	{name: "init with the wrong format", args: "init rows.csv --format arff -o -", code: failure},
	{name: "init with an unknown target", args: "init rows.csv -o new.yaml --target z", code: failure},
	{name: "more clusters than rows", args: "run --quiet many.yaml", code: failure,
		files: map[string]string{"many.yaml": "data: {train: rows.csv, drop: [c, y]}\npipeline: [{kmeans: {clusters: " +
			"50}}]\noutput: {dir: out}\n"}},
	{name: "a single row in two clusters", args: "run --quiet many.yaml", code: failure,
		files: map[string]string{"one.csv": "a,b\n1,2\n",
			"many.yaml": "data: {train: one.csv}\npipeline: [{kmeans: {clusters: 2}}]\noutput: {dir: out}\n"}},
	{name: "clusters of rows with missing values", args: "run --quiet many.yaml", code: failure,
		files: map[string]string{"gaps2.csv": "a,b\n1,2\n,3\n4,5\n",
			"many.yaml": "data: {train: gaps2.csv}\npipeline: [{kmeans: {clusters: 2}}]\noutput: {dir: out}\n"}},
	{name: "init for an unknown column that scores", args: "init rows.csv -o new.yaml --task clustering --target z",
		code: failure},
	{name: "auto of clusters", args: "auto --quiet rows.csv --task clustering", code: failure},
	{name: "auto of nothing", args: "auto --quiet gone.csv", code: failure},
	{name: "auto with an unknown target", args: "auto --quiet rows.csv --target z", code: failure},
	{name: "auto without time and for an unknown score",
		args: "auto --quiet rows.csv --target y --minutes 0 --score acuracy", code: failure},
	{name: "auto for a score of intervals", args: "auto --quiet rows.csv --target y --score mean_width", code: failure},
	{name: "auto with fewer candidates than none", args: "auto --quiet rows.csv --target y --candidates=-1",
		code: failure},
	{name: "auto for a score of the other task", args: "auto --quiet rows.csv --target y --score r2 -o made",
		code: failure},
	{name: "auto of few rows", args: "auto --quiet few.csv -o made", code: failure,
		files: map[string]string{"few.csv": rows(12)}},
	{name: "auto of one class", args: "auto --quiet one.csv -o made", code: failure,
		files: map[string]string{"one.csv": strings.ReplaceAll(rows(40), "yes", "no")}},
	{name: "auto with test rows that are not there", args: "auto --quiet rows.csv --test gone.csv", code: failure},
	{name: "auto with test rows of other columns", args: "auto --quiet rows.csv --test other.csv -o made", code: failure,
		files: map[string]string{"other.csv": "b,d,y\n1,2,no\n"}},
	{name: "auto of an experiment with a target", args: "auto --quiet good.yaml --target y", code: failure},
	{name: "auto into the results of a run", args: "auto --quiet rows.csv --target y -o folder", code: failure,
		files: map[string]string{"folder/result.json": `{"versions": {"bochner": "devel"}}`}},
	{name: "a run into the results of auto", args: "run --quiet good.yaml --set output.dir=folder", code: failure,
		files: map[string]string{"folder/result.json": `{"versions": {"bochner": "devel"}, "auto": {}}`}},
	{name: "outputs over files of others", args: "run --quiet good.yaml --set output.dir=folder", code: failure,
		files: map[string]string{"folder/report.html": "mine", "folder/spec.yaml": "mine"}},
	{name: "auto over files of others", args: "auto --quiet rows.csv -o folder", code: failure,
		files: map[string]string{"folder/leaderboard.csv": "mine"}},
	{name: "outputs over the rows",
		args: "run --quiet good.yaml --set output.dir=. --set data.train=predictions.csv --force", code: failure,
		setup: func(t *testing.T) {
			if err := os.Link("rows.csv", "predictions.csv"); err != nil {
				t.Skip(err)
			}
		}},
	{name: "outputs over the experiment", args: "run --quiet spec.yaml --set output.dir=. --force", code: failure,
		setup: func(t *testing.T) {
			if err := os.Symlink("good.yaml", "spec.yaml"); err != nil {
				t.Skip(err)
			}
		}},
	{name: "auto over its rows", args: "auto --quiet leaderboard.csv --target y -o . --force", code: failure,
		setup: func(t *testing.T) {
			if err := os.Rename("rows.csv", "leaderboard.csv"); err != nil {
				t.Fatal(err)
			}
		}},
	{name: "a draft over its rows", args: "init rows.csv -o rows.csv --force", code: failure},
	{name: "a state over the experiment", args: "shard fit fold.yaml --shard 0/1 -o fold.yaml", code: failure,
		files: map[string]string{"fold.yaml": "data: {train: rows.csv, target: y}\npipeline: [logistic]\n"}},
	{name: "a state over the rows", args: "shard fit fold.yaml --shard 0/1 -o file://rows.csv", code: failure,
		files: map[string]string{"fold.yaml": "data: {train: rows.csv, target: y}\npipeline: [logistic]\n"}},
	{name: "a state in a bucket", args: "shard fit fold.yaml --shard 0/1 -o s3://bucket/0.state?secret=1", code: failure,
		files: map[string]string{"fold.yaml": "data: {train: rows.csv, target: y}\npipeline: [logistic]\n"}},
	{name: "states in a bucket", args: "shard merge gs://bucket/* -o all.state", code: failure},
	{name: "a server for gRPC", args: "serve model.bochner --addr 127.0.0.1:0 --grpc-addr 127.0.0.1:0", code: failure},
	{name: "a server with traces", args: "serve model.bochner --addr 127.0.0.1:0 --traces http://127.0.0.1:1/", code: failure},
	{name: "a merge over a state", args: "shard merge a.state -o a.state", code: failure,
		files: map[string]string{"a.state": ""}},
	{name: "a model over a state", args: "shard finish a.state -o a.state", code: failure,
		files: map[string]string{"a.state": ""}},
}

// workbook is the beginning of an .xlsx file.
const workbook = "PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x13\x00\x00\x00[Content_Types].xml"

// fullDisk rejects writes to a file.
func fullDisk(name string) func(t *testing.T) {
	return func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("there is no /dev/full here")
		}
		if err := os.Symlink("/dev/full", name); err != nil {
			t.Fatal(err)
		}
	}
}

var usageMessages = []messageCase{
	{name: "no command", args: "", code: misuse},
	{name: "an unknown command", args: "runn good.yaml", code: misuse},
	{name: "an unknown flag", args: "run good.yaml --fast", code: misuse},
	{name: "auto for an unknown task", args: "auto rows.csv --task ranking", code: misuse},
	{name: "init for an unknown task", args: "init rows.csv --task ranking", code: misuse},
	{name: "auto without data", args: "auto", code: misuse},
	{name: "no file", args: "run", code: misuse},
	{name: "two files", args: "run good.yaml good.yaml", code: misuse},
	{name: "an override without a value", args: "run good.yaml --set rff.gamma", code: misuse},
	{name: "predict without rows", args: "predict model.bochner", code: misuse},
	{name: "a misspelt flag", args: "predict model.bochner rows.csv --kep id", code: misuse},
	{name: "an unknown format of rows", args: "predict model.bochner rows.csv --format excel", code: misuse},
	{name: "help for an unknown command", args: "help predct", code: misuse},
	{name: "completion for an unknown shell", args: "completion tcsh", code: misuse},
}

// TestMessages checks that every invalid input gives one exact message on standard error, nothing
// on standard output, its exit code, and no files.
func TestMessages(t *testing.T) {
	path, err := filepath.Abs("testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := readMessages(t, path)
	var table strings.Builder
	home := workplace(t)
	for _, group := range [][]messageCase{configMessages, dataMessages, modelMessages, usageMessages} {
		for _, c := range group {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				got := c.meet(t, home)
				fmt.Fprintf(&table, "== %s\n%s\n", c.name, strings.TrimRight(got, "\n"))
				if !*update && strings.TrimRight(got, "\n") != want[c.name] {
					t.Errorf("got\n%s\nwant\n%s", got, want[c.name])
				}
			})
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// meet runs the command and returns its message.
func (c messageCase) meet(t *testing.T, home string) string {
	dir := t.TempDir()
	copyFolder(t, home, dir)
	t.Chdir(dir)
	for name, text := range c.files {
		put(t, name, text)
	}
	if c.setup != nil {
		c.setup(t)
	}
	before := list(t, dir)
	var out, errs strings.Builder
	code := run(context.Background(), strings.Fields(c.args), &out, &errs)
	if code != c.code {
		t.Errorf("exit code %d, want %d", code, c.code)
	}
	if out.String() != "" && !strings.HasPrefix(c.args, "plan") {
		t.Errorf("printed %q", out.String())
	}
	after := strings.ReplaceAll(list(t, dir), "out\n", "") // made before the run could know
	if after != before {
		t.Errorf("files before\n%safter\n%s", before, after)
	}
	return errs.String()
}

// workplace creates a directory with valid files: rows.csv, good.yaml, model.bochner.
func workplace(t *testing.T) string {
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "rows.csv", rows(40))
	put(t, "other.csv", "a,b,d,y\n1,2,red,no\n")
	put(t, "gaps.csv", with(rows(40), 4, "1,,red,no"))
	put(t, "stray.csv", with(rows(40), 4, "1,2,red,perhaps"))
	put(t, "rows.xlsx", "no table")
	put(t, "empty.csv", "")
	put(t, "good.yaml", "data: {train: rows.csv, target: y, task: classification}\npipeline: [{columns: [{select: "+
		"numeric, steps: [standardize]}, {select: categorical, steps: [onehot]}]}, {rff: {features: 10}}, "+
		"logistic]\noutput: {dir: made}\n")
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := run(context.Background(), []string{"run", "--quiet", "good.yaml"}, &out, &errs); code != success {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if err := os.Rename("made/model.bochner", "model.bochner"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll("made"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// list returns the file names of a directory.
func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name() + "\n")
	}
	return b.String()
}

// change writes the model with its bytes changed.
func change(t *testing.T, name string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile("model.bochner")
	if err != nil {
		t.Fatal(err)
	}
	put(t, name, string(f(b)))
}

// reindex rewrites model.json of a model file and seals it as a program would.
func reindex(t *testing.T, file []byte, f func(doc []byte) []byte) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, entry := range r.File {
		content, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name == "model.json" {
			text = f(text)
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: entry.Name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const prefix = "sha256:"
	out := b.Bytes()
	binary.LittleEndian.PutUint16(out[len(out)-2:], uint16(len(prefix)+2*sha256.Size))
	sum := sha256.Sum256(out)
	return append(out, prefix+hex.EncodeToString(sum[:])...)
}

// readMessages reads the expected messages by name.
func readMessages(t *testing.T, path string) map[string]string {
	out := map[string]string{}
	if *update {
		return out
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+strings.TrimRight(string(text), "\n"), "\n== ")[1:] {
		name, got, _ := strings.Cut(part, "\n")
		out[name] = got
	}
	return out
}
