package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// crossCheck checks keys that depend on each other.
func crossCheck(d *decoder) {
	data := &d.spec.Data
	clash := func(a, b, why string) {
		if d.has(a) && d.has(b) {
			d.problem(d.at[b], b, param.FieldError{Problem: "conflicts with " + a + "; " + why})
		}
	}
	checkSQL(d, clash)
	checkGram(d, clash)
	if d.has("data") && len(data.Train) == 0 && data.Dataset == "" && !d.has("data.sql") {
		d.problem(d.at["data"], "data", param.FieldError{Problem: "must have train, sql or dataset",
			Hint: "train: FILE, sql: {url: $NAME, train: QUERY} for a database, or dataset: NAME for built-in data"})
	}
	clash("data.train", "data.dataset", "remove one of the two")
	clash("data.test", "data.dataset", "built-in data have a test part of their own or are split")
	clash("data.test", "data.split", "remove one of the two")
	clash("search.folds", "search.cv.folds", "remove one of the two")
	if data.Split.Stratify && !data.Split.Shuffle {
		d.problem(d.at["data.split.stratify"], "data.split.stratify",
			param.FieldError{Problem: "a stratified split requires shuffle: true"})
	}
	if data.Split.Stratify && data.Group != "" {
		d.problem(d.at["data.split.stratify"], "data.split.stratify",
			param.FieldError{Problem: "cannot be combined with data.group; remove one of the two"})
	}
	if c := data.CSV.Delimiter; len(c) > 1 && c != "tab" && c != "space" {
		d.problem(d.at["data.csv.delimiter"], "data.csv.delimiter",
			param.FieldError{Value: c, Constraint: "one character, tab or space"})
	}
	if c := data.CSV; c.Thousands == c.Decimal {
		at := d.at["data.csv.thousands"]
		if at == nil {
			at = d.at["data.csv.decimal"]
		}
		d.problem(at, "data.csv.thousands", param.FieldError{Value: c.Thousands,
			Constraint: "different from data.csv.decimal"})
	}
	if n := nested(d.spec.Pipeline.Estimator); n > maxNested {
		d.errs = append(d.errs, d.spec.Locate("pipeline",
			param.FieldError{Problem: fmt.Sprintf("models must be nested at most %[2]d deep, got %[1]d", n, maxNested)}))
	}
	checkRoles(d)
	checkSearch(d)
	checkTask(d)
}

// maxNested bounds the nesting depth of models, because their costs multiply.
const maxNested = 5

// nested returns the nesting depth of a spec, including itself.
func nested(spec any) int {
	if p, ok := spec.(pipeline.Pipeline); ok {
		return nested(p.Estimator)
	}
	deepest := 0
	for _, c := range pipeline.Within(spec) {
		if c.Spec == nil {
			continue
		}
		if members, ok := c.Spec.(meta.Members); ok {
			for _, m := range members {
				deepest = max(deepest, nested(m.Estimator))
			}
			continue
		}
		deepest = max(deepest, nested(c.Spec))
	}
	return deepest + 1
}

// checkSQL checks that the keys of a database are complete and do not conflict with others.
func checkSQL(d *decoder, clash func(a, b, why string)) {
	for _, key := range []string{"url", "train", "test"} {
		if given := d.at["data.sql."+key]; given != nil && !d.has("data.sql") {
			d.at["data.sql"] = given // of an override
		}
	}
	if !d.has("data.sql") || slices.ContainsFunc(d.errs, func(f param.FieldError) bool { return f.Path == "data.sql" }) {
		return
	}
	s := d.spec.Data.SQL
	add := func(path string, f param.FieldError) { d.errs = append(d.errs, d.spec.Locate(path, f)) }
	clash("data.train", "data.sql", "remove one of the two")
	clash("data.dataset", "data.sql", "remove one of the two")
	clash("data.sql", "data.test", "the test rows of a database are those of the query data.sql.test")
	clash("data.sql.test", "data.split", "test rows come from a query or from a split, not both")
	for _, path := range []string{"data.format", "data.csv", "data.svmlight"} {
		clash("data.sql", path, "it applies to files only")
	}
	switch {
	case s.URL == "":
		add("data.sql.url", param.FieldError{Problem: "missing: must be " + wantedURL})
	case s.Variable() == "":
		if _, _, err := s.Address(); err != nil {
			add("data.sql.url", param.FieldError{Problem: err.Error()})
		}
	}
	if len(s.Train) == 0 {
		add("data.sql.train", param.FieldError{Problem: "missing: must be a query"})
	}
	for _, part := range []struct {
		path    string
		queries reader.Strings
	}{{"data.sql.train", s.Train}, {"data.sql.test", s.Test}} {
		if slices.ContainsFunc(part.queries, func(q string) bool { return strings.TrimSpace(q) == "" }) {
			add(part.path, param.FieldError{Problem: "must not be empty"})
		}
	}
}

// checkGram checks that the files of Gram matrices are those of the rows, and that a step uses them.
func checkGram(d *decoder, clash func(a, b, why string)) {
	for _, key := range []string{"train", "test"} {
		if given := d.at["data.gram."+key]; given != nil && !d.has("data.gram") {
			d.at["data.gram"] = given // of an override
		}
	}
	data := d.spec.Data
	if !data.Gram.Given() {
		return
	}
	add := func(path string, f param.FieldError) { d.errs = append(d.errs, d.spec.Locate(path, f)) }
	clash("data.dataset", "data.gram", "its rows have inputs; name a file of rows in data.train")
	clash("data.sql", "data.gram", "its rows have no fixed order; name a file of rows in data.train")
	if data.Stream == "always" {
		add("data.stream", param.FieldError{Value: "always", Constraint: "auto or never with data.gram"})
	}
	if data.Gram.Train == "" {
		add("data.gram.train", param.FieldError{Problem: "missing: must be the file of the Gram matrix of the training rows"})
	}
	switch tested := len(data.Test) > 0; {
	case tested && data.Gram.Test == "":
		add("data.gram.test", param.FieldError{Problem: "missing: must be a file with a row for each row of data.test"})
	case !tested && data.Gram.Test != "":
		add("data.gram.test", param.FieldError{Problem: "requires data.test, the file of the test rows"})
	}
	used := Precomputed(d.spec.Pipeline)
	precomputed := func(v any) bool { return v == string(kernel.Precomputed) }
	if s := d.spec.Search; s != nil {
		used = used || slices.ContainsFunc(s.Grid, func(a gridsearch.Axis) bool {
			return slices.ContainsFunc(a.Values, precomputed)
		})
	}
	if d.steps && !used {
		add("data.gram", param.FieldError{Problem: "requires a step with kernel: precomputed",
			Hint: "set the kernel of a step, such as kernel_ridge: {kernel: precomputed}"})
	}
}

// Precomputed reports whether a step has kernel: precomputed.
func Precomputed(p pipeline.Pipeline) bool {
	return slices.ContainsFunc(param.All(p), func(p param.Param) bool {
		return p.Name == "kernel" && p.Value == string(kernel.Precomputed)
	})
}

// checkTask checks that estimator and score support the task, if the file declares it.
func checkTask(d *decoder) {
	task := datasets.Task(d.spec.Data.Task)
	if task != "auto" {
		d.errs = append(d.errs, d.spec.CheckTask(task, 0)...)
	}
}

// checkRoles finds columns that are given two roles.
func checkRoles(d *decoder) {
	data := d.spec.Data
	roles := map[string]string{}
	give := func(column, path string) {
		if column == "" {
			return
		}
		if other, twice := roles[column]; twice {
			d.problem(d.at[path], path, param.FieldError{Problem: fmt.Sprintf("column %q is also %s", column, other)})
			return
		}
		roles[column] = path
	}
	for _, column := range data.Target {
		give(column, "data.target")
	}
	give(data.Weight, "data.weight")
	give(data.Group, "data.group")
	for _, column := range data.Drop {
		give(column, "data.drop")
	}
	const lists = "data.labels.delimiter"
	switch {
	case data.Labels.Delimiter == "":
	case data.Task != string(datasets.MultiLabel):
		d.problem(d.at[lists], lists, param.FieldError{Problem: "requires the task multilabel, got " + data.Task})
	case len(data.Target) != 1:
		d.problem(d.at[lists], lists, param.FieldError{Problem: fmt.Sprintf("requires one column of labels in data.target, "+
			"got %d", len(data.Target))})
	}
}

func checkSearch(d *decoder) {
	s := d.spec.Search
	if s == nil {
		return
	}
	if s.CV.Kind == "group" && d.spec.Data.Group == "" {
		d.problem(d.at["search.cv.kind"], "search.cv.kind", param.FieldError{Problem: "folds by group require data.group"})
	}
	checkStrategy(d)
	if s.Random > gridsearch.MaxCandidates {
		d.problem(d.at["search.random"], "search.random", param.FieldError{Value: s.Random,
			Constraint: fmt.Sprintf("at most %d candidates", gridsearch.MaxCandidates)})
	}
	n := 1
	for _, a := range s.Grid {
		if n *= len(a.Values); n > gridsearch.MaxCandidates && s.Random == 0 && !s.Coordinate() {
			d.problem(d.at["search.grid"], "search.grid", param.FieldError{Problem: fmt.Sprintf("more than %d candidates",
				gridsearch.MaxCandidates), Hint: "use search.random to sample the grid"})
			return
		}
	}
}

// checkStrategy checks the search strategy.
func checkStrategy(d *decoder) {
	s := d.spec.Search
	exact := s.CV.Kind == "loo" || s.CV.Kind == "gcv"
	checkCoordinate(d)
	if d.has("search.halving") && s.Halving.MinResources == 0 && !d.has("search.halving.min_resources") {
		d.problem(d.at["search.halving"], "search.halving.min_resources",
			param.FieldError{Problem: "missing", Hint: "resources of the first round, such as min_resources: 1000"})
		return
	}
	if s.Halving.MinResources == 0 {
		return
	}
	problem := func(key string, f param.FieldError) {
		at := d.at[key]
		if at == nil {
			at = d.at["search.halving"]
		}
		d.problem(at, key, f)
	}
	if exact {
		problem("search.halving", param.FieldError{Problem: "halving requires folds, got cv.kind: " + s.CV.Kind})
	}
	if s.Halving.MaxResources > 0 && s.Halving.MaxResources < s.Halving.MinResources {
		problem("search.halving.max_resources", param.FieldError{Value: s.Halving.MaxResources,
			Constraint: fmt.Sprintf("an integer ≥ min_resources, which is %d", s.Halving.MinResources)})
	}
	checkResource(d, problem)
}

// checkCoordinate checks that other options are compatible with the coordinate search.
func checkCoordinate(d *decoder) {
	s := d.spec.Search
	switch {
	case !s.Coordinate() && d.has("search.rounds"):
		d.problem(d.at["search.rounds"], "search.rounds", param.FieldError{Problem: "requires strategy: coordinate",
			Hint: "set it or remove rounds"})
	case s.Coordinate() && s.Random > 0:
		d.problem(d.at["search.random"], "search.random",
			param.FieldError{Problem: "cannot be combined with strategy: coordinate", Hint: "remove one of the two"})
	case s.Coordinate() && s.Halving.MinResources > 0:
		d.problem(d.at["search.halving"], "search.halving",
			param.FieldError{Problem: "cannot be combined with strategy: coordinate", Hint: "remove one of the two"})
	}
}

// checkResource checks that the pipeline has the resource of a halving.
func checkResource(d *decoder, problem func(key string, f param.FieldError)) {
	const key = "search.halving.resource"
	s := d.spec.Search
	if s.Halving.Resource == "rows" || !d.steps {
		return
	}
	if slices.ContainsFunc(s.Grid, func(a gridsearch.Axis) bool { return a.Path == s.Halving.Resource }) {
		problem(key, param.FieldError{Problem: "must not be an axis of the grid, got " + s.Halving.Resource})
		return
	}
	value, _ := param.Get(d.spec.Pipeline, s.Halving.Resource)
	if _, whole := value.(int); !whole {
		f := param.FieldError{Value: s.Halving.Resource, Constraint: "rows, or the path of a parameter that takes integers"}
		var names []string
		for _, p := range param.All(d.spec.Pipeline) {
			names = append(names, p.Path)
		}
		if near := suggest.Nearest(s.Halving.Resource, names); near != "" && near != s.Halving.Resource {
			f.Hint = "did you mean " + near + "?"
		}
		problem(key, f)
	}
}
