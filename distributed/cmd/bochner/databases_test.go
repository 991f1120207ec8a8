package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/distributed/internal/postgrestest"
)

// Rows of PostgreSQL, with the URL in a variable, give the same results as files, and no output
// contains the password.
func TestRunOfPostgres(t *testing.T) {
	at, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(postgrestest.Stop)
	db, err := sql.Open("pgx", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	superuser := at.String()
	at.User = url.UserPassword("reader", "geheim") // the server does not ask for the password
	t.Chdir(t.TempDir())
	t.Setenv("FLATS", at.String())
	var values []string
	var csv strings.Builder
	csv.WriteString("rent,area,city,lift\n")
	for i := range 200 {
		area, city, lift := 20+i*37%101, []string{"Bonn", "Kiel", "Ulm"}[i*i%3], i%4 == 0
		rent := float64(area)*float64(9+i*i%3) + float64(i%7)/8
		values = append(values, fmt.Sprintf("(%d, %v, %d, '%s', %v)", i, rent, area, city, lift))
		fmt.Fprintf(&csv, "%v,%d,%s,%d\n", rent, area, city, map[bool]int{true: 1}[lift])
	}
	for _, text := range []string{"create table flats (id int primary key, rent float8, area int, city text, lift " +
		"boolean)", "insert into flats values " + strings.Join(values, ", "),
		"create role reader login", "grant select on flats to reader",
		"create role writer login in role pg_write_server_files"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	put(t, "rows.csv", csv.String())
	const rest = "  target: rent\n  split: {test: 0.3}\npipeline:\n- columns:\n  - {name: n, select: numeric, steps: " +
		"[standardize]}\n  - {name: c, select: categorical, steps: [onehot]}\n- rff: {features: 32, gamma: 0.5}\n- " +
		"ridge\nsearch: {grid: {rff.gamma: [0.1, 1]}, folds: 3}\nname: flats\n"
	const asked = "data:\n  sql: {url: $FLATS, train: 'select rent, area, city, lift from flats order by id'}\n" + rest
	put(t, "asked.yaml", asked)
	put(t, "files.yaml", "data:\n  train: rows.csv\n"+rest)
	got := ""
	for _, args := range []string{"validate asked.yaml", "plan asked.yaml", "run asked.yaml --set output.dir=asked",
		"run asked.yaml --set output.dir=asked", "run asked.yaml --set output.dir=asked --set data.stream=always --force",
		"run asked.yaml --set output.dir=asked --force",
		"inspect asked/model.bochner", "evaluate asked/model.bochner rows.csv", "validate asked/spec.yaml",
		"auto asked.yaml --candidates 2 --out found",
		"shard fit asked.yaml --shard 0/2 -o 0.state", "shard fit asked.yaml --shard 1/2 -o 1.state",
		"shard finish 0.state 1.state -o folded.bochner"} {
		out, errs := call(t, success, args)
		got += out + errs
	}
	call(t, success, "run files.yaml --set output.dir=files")
	one, err := os.ReadFile("asked/predictions.csv")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := os.ReadFile("files/predictions.csv"); err != nil || string(one) != string(other) {
		t.Error("the predictions are not those of the file", err)
	}
	if folded, err := os.ReadFile("runs/flats/predictions.csv"); err != nil || string(one) != string(folded) {
		t.Error("the predictions are not those of the search in parts", err)
	}

	_, errs := call(t, failure, "shard fit asked.yaml --set search=null --set data.split.test=0 --shard 0/2 -o 0.state")
	has(t, errs, "data.sql: the rows of a query cannot be sharded (pipe a query for each shard as CSV into bochner "+
		"shard fit --data -)")
	call(t, success, "shard fit asked.yaml --set search=null --set data.split.test=0 --set data.task=regression "+
		"--shard 0/1 --data rows.csv -o 0.state")
	got += errs
	_, errs = call(t, failure, "validate asked.yaml --set data.sql.train=select+nothing")
	has(t, errs, `--set: data.sql.train: select+nothing: ERROR: column "nothing" does not exist`)
	got += errs
	for _, c := range []struct{ user, want string }{
		{"tester", `the role "tester" is a superuser; use a read-only role or pass --allow-superuser`},
		{"writer", `the role "writer" is a member of "pg_write_server_files", which can access files and programs of the server; use`},
	} {
		other := *at
		other.User = url.User(c.user)
		t.Setenv("FLATS", other.String())
		_, errs = call(t, failure, "validate asked.yaml")
		has(t, errs, "asked.yaml:2:9: data.sql.url: "+c.want)
	}
	t.Setenv("FLATS", superuser)
	call(t, success, "validate asked.yaml --allow-superuser")
	for _, query := range []string{"copy flats to program 'touch harmed'", "do $$begin delete from flats; end$$",
		"select 1; delete from flats", "with x as (delete from flats returning rent, area, city) select * from x"} {
		put(t, "attack.yaml", strings.Replace(asked, "select rent, area, city, lift from flats order by id",
			strings.ReplaceAll(query, "'", "''"), 1))
		_, errs = call(t, failure, "validate attack.yaml --allow-superuser")
		has(t, errs, "attack.yaml:2:22: data.sql.train: must ")
	}
	t.Setenv("FLATS", superuser+"&default_query_exec_mode=simple_protocol")
	_, errs = call(t, failure, "validate asked.yaml --allow-superuser")
	has(t, errs, "data.sql.url: the URL in $FLATS: simple_protocol is not supported; use default_query_exec_mode=exec")
	var rows int
	if err := db.QueryRow("select count(*) from flats").Scan(&rows); err != nil || rows != 200 {
		t.Error(rows, err)
	}
	at.Path = "/nowhere"
	t.Setenv("FLATS", at.String())
	_, errs = call(t, failure, "run asked.yaml --set output.dir=other")
	has(t, errs, `asked.yaml:2:9: data.sql.url: cannot connect to the database: FATAL: database "nowhere" does not exist`)
	got += errs
	at.Host = "127.0.0.1:1"
	t.Setenv("FLATS", at.String())
	_, errs = call(t, failure, "validate asked.yaml")
	if want := "asked.yaml:2:9: data.sql.url: cannot connect to the database: dial tcp 127.0.0.1:1: connect: " +
		"connection refused\n"; errs != want {
		t.Errorf("%swanted %s", errs, want)
	}
	got += errs
	if strings.Contains(got, "geheim") {
		t.Error("the password is reported")
	}
	err = filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "geheim") {
			t.Errorf("%s has the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The queries of an experiment file change no database and write no file, though the files they
// name may be written.
func TestQueriesOfSQLiteOnlyRead(t *testing.T) {
	t.Chdir(t.TempDir())
	db, err := sql.Open("sqlite", "file:rows.db?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put(t, "rows.db", "")
	for _, text := range []string{"attach 'file:other.db?mode=rwc' as other", "vacuum into 'other.db'",
		"create temp table t (a)", "pragma query_only = 0"} {
		if _, err := db.Exec(text); err == nil || !strings.Contains(err.Error(), "authoriz") {
			t.Errorf("%s: %v, want an error of the authorizer", text, err)
		}
		put(t, "attack.yaml", "data: {sql: {url: 'sqlite:rows.db', train: \""+text+
			"; select 1 as a, 2 as y\"}, target: y}\npipeline: [ridge]\nname: x\n")
		_, errs := call(t, failure, "validate attack.yaml")
		has(t, errs, "attack.yaml:1:37: data.sql.train: must be one statement")
	}
	if _, err := os.Stat("other.db"); err == nil {
		t.Error("a query has written a file")
	}
	var one int
	if err := db.QueryRow("with recursive n(i) as (select 1 union all select i + 1 from n where i < 3) select sum(i) " +
		"from n").Scan(&one); err != nil || one != 6 {
		t.Error(one, err)
	}
}

// Queries of an experiment file cannot build strings that exceed the memory.
func TestQueriesOfSQLiteAreLimited(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.db", "")
	put(t, "attack.yaml", "data: {sql: {url: 'sqlite:rows.db', train: \"select length(hex(zeroblob(40000000))) as a, 2 "+
		"as y\"}, target: y}\npipeline: [ridge]\nname: x\n")
	_, errs := call(t, failure, "validate attack.yaml")
	has(t, errs, "string or blob too big")
}
