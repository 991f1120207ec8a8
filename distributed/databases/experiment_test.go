package databases_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
)

func spec(t *testing.T, text string, overrides ...experiment.Override) experiment.Spec {
	t.Helper()
	s, err := experiment.Parse(context.Background(), "spec.yaml", []byte(text), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func set(path, value string) experiment.Override {
	return experiment.Override{Path: path, Value: value}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// flats makes a database of SQLite, and the same rows as files.
func flats(t *testing.T) *sql.DB {
	t.Helper()
	t.Chdir(t.TempDir())
	db, err := sql.Open("sqlite", "file:flats.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	change(t, db, "create table flats (id integer primary key, rent real, area real, city text, year integer)")
	files := map[bool]*strings.Builder{false: {}, true: {}}
	for _, b := range files {
		b.WriteString("rent,area,city\n")
	}
	var all []string
	for i := range 300 {
		area, city, year := 20+i*37%101, []string{"Bonn", "Kiel", "Ulm"}[i*i%3], 2018+i%3
		rent := float64(area)*float64(9+i*i%3) + float64(i%7)/8
		all = append(all, fmt.Sprintf("(%d, %v, %d, '%s', %d)", i, rent, area, city, year))
		fmt.Fprintf(files[year == 2020], "%v,%d,%s\n", rent, area, city)
	}
	change(t, db, "insert into flats values "+strings.Join(all, ", "))
	put(t, "train.csv", files[false].String())
	put(t, "test.csv", files[true].String())
	return db
}

func change(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

const (
	asked = "data:\n  sql:\n    url: sqlite:flats.db\n    train: select rent, area, city from flats where year < " +
		"2020 order by id\n    test: select rent, area, city from flats where year = 2020 order by id\n  target: rent\n"
	fromFile = "data: {train: train.csv, test: test.csv, target: rent}\n"
	learned  = "name: flats\npipeline:\n- columns:\n  - {name: n, select: numeric, steps: [standardize]}\n  - {name: " +
		"c, select: categorical, steps: [onehot]}\n- rff: {features: 32, gamma: 0.5}\n- ridge\n"
)

// outputFiles runs a spec and returns its result and the files it has written.
func outputFiles(t *testing.T, s experiment.Spec, dir string) (found result.Result, files map[string]string) {
	t.Helper()
	s.Output.Dir = dir
	found, err := experiment.Run(context.Background(), s, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, name := range []string{"model.bochner", "predictions.csv", "spec.yaml"} {
		text, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return found, files
}

// TestQueriesAreAsFiles checks that rows from queries give the same predictions, byte for byte, as
// the same rows in files: in memory, streamed, searched, split, and from a list of queries.
func TestQueriesAreAsFiles(t *testing.T) {
	flats(t)
	const parts = "['select rent, area, city from flats where id < 100 and year < 2020 order by id', 'select city, " +
		"rent, area from flats where id >= 100 and year < 2020 order by id']"
	for name, sets := range map[string][]experiment.Override{
		"memory":   nil,
		"streamed": {set("data.stream", "always")},
		"search":   {set("search.grid.rff.gamma", "[0.1, 1]"), set("search.folds", "3")},
		"split":    {set("data.test", ""), set("data.split.test", "0.25")},
		"several":  {set("data.sql.train", parts)},
	} {
		var both [2]result.Result
		var files [2]map[string]string
		for k, data := range []string{asked, fromFile} {
			text := data + learned
			if name == "search" {
				text += "search: {grid: {rff.gamma: [0.5]}}\n"
			}
			var own []experiment.Override
			for _, s := range sets {
				switch {
				case k == 0 && s.Path == "data.test":
					s = set("data.sql.test", "null")
				case s.Path == "data.test":
					s = set("data.test", "null")
				case k == 1 && strings.HasPrefix(s.Path, "data.sql"):
					continue
				}
				own = append(own, s)
			}
			both[k], files[k] = outputFiles(t, spec(t, text, own...), fmt.Sprint(name, k))
		}
		if files[0]["predictions.csv"] != files[1]["predictions.csv"] {
			t.Errorf("%s: the predictions are not those of the files", name)
		}
		if both[0].Rows != both[1].Rows || both[0].SHA256.Train == "" || both[0].SHA256.Train == both[1].SHA256.Train {
			t.Errorf("%s: rows %v and %v, digests %v and %v", name, both[0].Rows, both[1].Rows, both[0].SHA256, both[1].SHA256)
		}
		for metric, value := range both[1].Test {
			if both[0].Test[metric] != value {
				t.Errorf("%s: %s is %v, of files %v", name, metric, both[0].Test[metric], value)
			}
		}
	}
}

// TestQueriesAgain checks that the spec of a run finds the database relative to its folder, that
// repeating the run gives the same result, and that changed rows make a different run.
func TestQueriesAgain(t *testing.T) {
	db := flats(t)
	ctx := context.Background()
	s := spec(t, asked+learned)
	first, files := outputFiles(t, s, "runs/flats")
	again, err := experiment.Load(ctx, "runs/flats/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	second, _ := outputFiles(t, again, "runs/flats")
	if first.SHA256 != second.SHA256 || first.Test["r2"] != second.Test["r2"] {
		t.Error(first, second)
	}
	if !strings.Contains(files["spec.yaml"], "sqlite:../../flats.db") {
		t.Error(files["spec.yaml"])
	}
	m, err := os.ReadFile("runs/flats/model.bochner")
	if err != nil || bytes.Contains(m, []byte("flats.db")) || bytes.Contains(m, []byte("select rent")) {
		t.Error("the model contains the location of its rows", err)
	}
	change(t, db, "update flats set rent = rent + 1 where id = 7")
	if _, err := experiment.Run(ctx, s, experiment.Options{}); err == nil || strings.Count(err.Error(), "\n") != 2 ||
		!strings.Contains(err.Error(), "would replace:\n  data.train: other contents") {
		t.Error(err)
	}
	p, err := experiment.NewPlan(ctx, s)
	if err != nil || p.Rows != (result.Rows{Train: 200, Test: 100}) || p.Features != 2 {
		t.Error(p, err)
	}
}

// A database that keeps no snapshot and changes while a run reads it has no results.
func TestChangingQueries(t *testing.T) {
	db := flats(t)
	change(t, db, "pragma journal_mode = wal") // readers do not block writers
	s := spec(t, asked+learned)
	changed := false
	o := experiment.Options{Progress: func(phase string, done, _ int) {
		if phase == "load" && done > 0 && !changed {
			changed = true
			change(t, db, "update flats set rent = rent + 1 where id = 7")
		}
	}}
	if _, err := experiment.Run(context.Background(), s, o); !changed || !errors.Is(err, datasets.ErrChanged) {
		t.Error(err)
	}
	if _, err := os.Stat("runs/flats/model.bochner"); err == nil {
		t.Error("there is a model")
	}
}

// Errors of databases and queries have positions and never contain a password.
func TestQueryErrors(t *testing.T) {
	flats(t)
	t.Setenv("UNREADABLE", "postgres://me:geheim%zz@127.0.0.1/x")
	t.Setenv("UNKNOWN", "mysql://me:geheim@127.0.0.1/x")
	t.Setenv("UNSET", "")
	for _, c := range []struct {
		sets  []experiment.Override
		wants string
	}{
		{[]experiment.Override{set("data.sql.url", "$UNSET")}, "--set: data.sql.url: the environment variable UNSET is not set"},
		{[]experiment.Override{set("data.sql.url", "$UNREADABLE")},
			"--set: data.sql.url: the URL in $UNREADABLE must be postgres://USER@HOST/NAME"},
		{[]experiment.Override{set("data.sql.url", "$UNKNOWN")},
			"--set: data.sql.url: the URL in $UNKNOWN: scheme must be one of postgres, postgresql, sqlite, got mysql"},
		{[]experiment.Override{set("data.sql.url", "postgres://me:geheim@127.0.0.1/x")},
			"--set: data.sql.url: the URL must not contain a password; store it in an environment variable and use $NAME"},
		{[]experiment.Override{set("data.sql.url", "postgres://127.0.0.1/x?user=me&password=geheim")},
			"--set: data.sql.url: the URL must not contain a password; store it in an environment variable and use $NAME"},
		{[]experiment.Override{set("data.sql.url", "[postgres://me:geheim@127.0.0.1/x]")}, "--set: data.sql.url: must be a string"},
		{[]experiment.Override{set("data.sql.url", "$not a name")},
			"--set: data.sql.url: the URL must be postgres://USER@HOST/NAME, sqlite:PATH, or $NAME for the URL that an " +
				"environment variable holds"},
		{[]experiment.Override{set("data.sql.url", "sqlite:///flats.db")},
			"--set: data.sql.url: the URL must be sqlite:PATH, got no path"},
		{[]experiment.Override{set("data.sql.url", "sqlite:none.db")}, "--set: data.sql.url: none.db: no such file or directory"},
		{[]experiment.Override{set("data.sql.train", "selec rent")}, "--set: data.sql.train: must be one SELECT, or WITH … SELECT"},
		{[]experiment.Override{set("data.sql.train", "select rent rent rent")},
			`--set: data.sql.train: select rent rent rent: SQL logic error: near "rent": syntax error (1)`},
		{[]experiment.Override{set("data.sql.test", "delete from flats returning rent, area, city")},
			"--set: data.sql.test: must be one SELECT, or WITH … SELECT"},
		{[]experiment.Override{set("data.sql.test", "select rent, area from flats")},
			`--set: data.sql.test: the query to test on: missing column "city" of the query to train on`},
		{[]experiment.Override{set("data.target", "rant")},
			`--set: data.target: no column "rant" in the query to train on (did you mean rent?)`},
		{[]experiment.Override{set("data.sql.train", "''")}, "--set: data.sql.train: must not be empty"},
		{[]experiment.Override{set("data.sql.train", "null")}, "spec.yaml:2:3: data.sql.train: missing: must be a query"},
		{[]experiment.Override{set("data.train", "train.csv")},
			"spec.yaml:2:3: data.sql: conflicts with data.train; remove one of the two"},
		{[]experiment.Override{set("data.dataset", "iris")},
			"spec.yaml:2:3: data.sql: conflicts with data.dataset; remove one of the two"},
		{[]experiment.Override{set("data.format", "csv")}, "data.format: conflicts with data.sql; it applies to files only"},
	} {
		put(t, "spec.yaml", asked+learned)
		_, err := experiment.LoadOptions{All: true, Overrides: c.sets}.Load(context.Background(), "spec.yaml")
		if err == nil || !strings.Contains(err.Error(), c.wants) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v\nwanted %s", c.sets, err, c.wants)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("a password is reported: %v", err)
		}
	}
	put(t, "spec.yaml", "data: {sql: 'postgres://me:geheim@127.0.0.1/x'}\n"+learned)
	if _, err := (experiment.LoadOptions{All: true}).Load(context.Background(), "spec.yaml"); err == nil ||
		strings.Contains(err.Error(), "geheim") ||
		!strings.Contains(err.Error(), "spec.yaml:1:13: data.sql: must be a mapping") {
		t.Error(err)
	}
	s := spec(t, asked+learned).Unplaced()
	s.Data.SQL.URL, s.Output.Dir = "postgres://me:geheim@127.0.0.1/x", "runs/made"
	if _, err := experiment.Run(context.Background(), s, experiment.Options{}); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Error(err)
	}
	if _, err := os.Stat("runs/made"); err == nil {
		t.Error("something is written")
	}
}
