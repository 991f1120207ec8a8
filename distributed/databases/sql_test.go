package databases_test

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/datasets/sql"
	"github.com/bochner-ml/bochner/distributed/internal/postgrestest"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
)

var ctx = context.Background()

// dialects are the databases that the tests know.
var dialects = map[string]struct {
	open  func(t testing.TB) *stdsql.DB
	types map[string]string // type names of the database
}{
	"sqlite": {func(t testing.TB) *stdsql.DB {
		return open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "rows.db")+
			"?_pragma=journal_mode(wal)&_pragma=busy_timeout(10000)")
	}, map[string]string{"float": "REAL", "whole": "INTEGER", "text": "TEXT", "truth": "BOOLEAN", "day": "DATE",
		"time": "DATETIME", "exact": "NUMERIC(10,2)"}},
	"postgres": {func(t testing.TB) *stdsql.DB { return open(t, "pgx", postgrestest.URL(t)) },
		map[string]string{"float": "double precision", "whole": "bigint", "text": "text", "truth": "boolean", "day": "date",
			"time": "timestamp", "exact": "numeric(10,2)"}},
}

func open(t testing.TB, driver, dsn string) *stdsql.DB {
	t.Helper()
	db, err := stdsql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func do(t testing.TB, db *stdsql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(ctx, statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// fill makes a table of n rows with values of every type, and the same rows as CSV.
func fill(t testing.TB, db *stdsql.DB, types map[string]string, n int) (asCSV string) {
	t.Helper()
	do(t, db, "drop table if exists flats")
	do(t, db, fmt.Sprintf("create table flats (id %[1]s primary key, area %[2]s, price %[3]s, city %[4]s, balcony "+
		"%[5]s, built %[6]s, seen %[7]s, weight %[2]s, street %[1]s, y %[4]s)",
		types["whole"], types["float"], types["exact"], types["text"], types["truth"], types["day"], types["time"]))
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("id,area,price,city,balcony,built,seen,weight,street,y\n")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		area := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(20)-10))
		built := time.Date(1900+rng.IntN(120), time.Month(1+rng.IntN(12)), 1+rng.IntN(28), 0, 0, 0, 0, time.UTC)
		seen := built.Add(time.Duration(rng.IntN(1e6)) * time.Minute)
		city := []string{"Bern", "Genève", "007", "東京", "a, b"}[rng.IntN(5)]
		row := []any{i, area, fmt.Sprintf("%d.%02d", rng.IntN(1000), rng.IntN(100)), city, rng.IntN(2) == 0, built, seen,
			float64(1 + rng.IntN(3)), rng.IntN(40), []string{"no", "yes"}[min(i, rng.IntN(2))]}
		fields := []string{fmt.Sprint(i), fmt.Sprint(area), row[2].(string), `"` + city + `"`,
			map[bool]string{false: "0", true: "1"}[row[4].(bool)],
			built.Format(time.DateOnly), seen.Format("2006-01-02T15:04:05"), fmt.Sprint(row[7]), fmt.Sprint(row[8]),
			row[9].(string)}
		for j := 1; j < 7; j++ {
			if i > 5 && rng.IntN(9) == 0 {
				row[j], fields[j] = nil, ""
			}
		}
		if _, err := tx.Exec("insert into flats values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", row...); err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.Join(fields, ",") + "\n")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gather(t testing.TB, src datasets.Source) datasets.Set {
	t.Helper()
	set, err := datasets.ReadAll(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestSameAsCSV checks that the rows of a query equal those of the CSV file, bit for bit and
// including the schema, and runs the conformance test of sources.
func TestSameAsCSV(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			db := d.open(t)
			path := filepath.Join(t.TempDir(), "rows.csv")
			if err := os.WriteFile(path, []byte(fill(t, db, d.types, 5000)), 0o644); err != nil {
				t.Fatal(err)
			}
			dates := map[string]datasets.Date{"built": {}, "seen": {Parts: []string{"year", "hour", "weekday"}}}
			for what, roles := range map[string]datasets.Roles{
				"all": {Target: []string{"y"}, Weight: "weight", Group: "street", Dates: dates,
					Passthrough: []string{"id", "city"}, Drop: []string{"id"}},
				"positive": {Target: []string{"city"}, Positive: []string{"007", "東京"}, DropMissingTarget: true,
					Drop: []string{"built", "seen"}},
				"numbers": {Target: []string{"area", "price"}, DropMissingTarget: true, Dates: dates},
				"kinds": {Target: []string{"y"}, Kinds: map[string]datasets.Kind{"street": datasets.Categorical},
					Drop: []string{"built", "seen"}},
			} {
				o := csv.Options{Roles: roles}
				o.Kinds = map[string]datasets.Kind{"city": datasets.Categorical}
				for name, kind := range roles.Kinds {
					o.Kinds[name] = kind
				}
				want, err := o.Open(ctx, path)
				if err != nil {
					t.Fatal(err)
				}
				got, err := sql.Options{Roles: roles}.Open(ctx, db, "select * from flats order by id", nil)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if a, b := got.Schema(), want.Schema(); !reflect.DeepEqual(a, b) {
					t.Errorf("%s: schema\n%v, want\n%v", what, a, b)
				}
				sourcetest.Equal(t, gather(t, got), gather(t, want))
				if a, b := got.(rowsource.FilteredSource).SkippedRows(),
					want.(rowsource.FilteredSource).SkippedRows(); !reflect.DeepEqual(a, b) {
					t.Errorf("%s: rows left out: %v, want %v", what, a, b)
				}
				schema := want.Schema()
				roles.Schema = &schema
				again, err := sql.Options{Roles: roles}.Open(ctx, db, "select * from flats order by id", nil)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				sourcetest.Equal(t, gather(t, again), sourcetest.GroupsByAppearance(gather(t, want)))
				if what == "all" {
					sourcetest.Run(t, got)
				}
			}
			// The rows of several queries are concatenated.
			s, err := sql.Take(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			roles := datasets.Roles{Target: []string{"y"}, Drop: []string{"built", "seen"}}
			parts, err := s.Open(ctx, sql.Options{Roles: roles}, sql.Query{Text: "select * from flats where id < $1 order by id",
				Args: []any{1234}},
				sql.Query{Text: "select y, area, price, balcony, city, weight, street, id, built, seen from flats where id >= " +
					"$1 order by id", Args: []any{1234}})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := sql.Options{Roles: roles}.Read(ctx, db, "select * from flats order by id", nil)
			if err != nil {
				t.Fatal(err)
			}
			sourcetest.Equal(t, gather(t, parts), whole)
		})
	}
}

// The type of a computed column follows from its values if the database declares none; Booleans are
// classes as a target.
func TestTypes(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			db := d.open(t)
			do(t, db, "drop table if exists small")
			do(t, db, "create table small (k "+d.types["whole"]+", flag "+d.types["truth"]+", word "+d.types["text"]+")")
			do(t, db, "insert into small values (1, true, '10'), (2, false, 'x'), (3, null, ''), (4, true, null)")
			set, err := sql.Options{Roles: datasets.Roles{Target: []string{"y"}}}.Read(ctx, db,
				"select k*2 as double, k/2.0 as half, word || '!' as loud, word, flag, flag as y from small where k <> 3 order "+
					"by k", nil)
			if err != nil {
				t.Fatal(err)
			}
			want := []datasets.Column{{Name: "double"}, {Name: "half"},
				{Name: "loud", Kind: datasets.Categorical, Categories: []string{"10!", "x!"}},
				{Name: "word", Kind: datasets.Categorical, Categories: []string{"10", "x"}}, {Name: "flag"}}
			if !reflect.DeepEqual(set.Schema.Columns, want) || !reflect.DeepEqual(set.Schema.Classes(),
				[]string{"false", "true"}) {
				t.Errorf("%+v, classes %q", set.Schema.Columns, set.Schema.Classes())
			}
			nan := math.NaN()
			for i, row := range [][]float64{{2, .5, 0, 0, 1}, {4, 1, 1, 1, 0}, {8, 2, nan, nan, 1}} {
				for j, v := range row {
					if got := set.X.At(i, j); got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
						t.Errorf("row %d, %s: %v, want %v", i, want[j].Name, got, v)
					}
				}
			}
			if fmt.Sprint(set.Y) != "[1 0 1]" {
				t.Error(set.Y)
			}
			// An empty string is a missing value, as in a file.
			if set, err = (sql.Options{}).Read(ctx, db, "select word from small order by k", nil); err != nil ||
				!math.IsNaN(set.X.At(2, 0)) || !math.IsNaN(set.X.At(3, 0)) {
				t.Error(set, err)
			}
		})
	}
}

// Errors name the query, the row and the column.
func TestErrors(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			db := d.open(t)
			fill(t, db, d.types, 50)
			for _, c := range []struct {
				query string
				o     datasets.Roles
				want  string
			}{
				{"select nope from flats", datasets.Roles{}, "nope"},
				{"select * from nowhere", datasets.Roles{}, "nowhere"},
				{"select area, area from flats", datasets.Roles{},
					`select area, area from flats: columns 1 and 2 are both called "area"`},
				{"select area from flats", datasets.Roles{Target: []string{"y"}},
					`select area from flats: target: no column "y"; there are area`},
				{"select area, built from flats", datasets.Roles{},
					"select area, built from flats: column built must have numbers or strings, got times of type DATE; split them " +
						"with data.dates or exclude the column with data.drop (Roles.Dates and Roles.Drop in Go)"},
				{"select area, y from flats where 1 = 0", datasets.Roles{Target: []string{"y"}},
					"select area, y from flats where 1 = 0: no rows"},
				{"select area, city from flats order by id", datasets.Roles{Target: []string{"city"}}, "row "},
				{"select area, city, weight - 2 as w from flats where city is not null order by id",
					datasets.Roles{Target: []string{"city"}, Weight: "w"},
					"select area, city, weight - 2 as w from flats where city is …: row 1: column w: weight must be a number ≥ 0, " +
						"got -1 (and 15 more in this column)"},
				{"select area, price, city, balcony, street, weight, y, id from flats where nowhere = 1", datasets.Roles{},
					"select area, price, city, balcony, street, weight, y, id fro…: "},
			} {
				_, err := sql.Options{Roles: c.o}.Read(ctx, db, c.query, nil)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v\nwanted %s", c.query, err, c.want)
				}
			}
			ended, end := context.WithCancel(ctx)
			end()
			if _, err := (sql.Options{}).Read(ended, db, "select area from flats", nil); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			err := canceltest.Check(func(ctx context.Context) (bool, error) {
				set, err := sql.Options{Roles: datasets.Roles{Target: []string{"y"}}}.Read(ctx, db, "select area, y from flats order by id", nil)
				return set.Rows() > 0, err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	db := dialects["sqlite"].open(t)
	do(t, db, "create table odd (a INTEGER, b BLOB)")
	do(t, db, "insert into odd values (1, x'00'), (2, x'01'), ('three', x'02')")
	if _, err := (sql.Options{}).Read(ctx, db, "select a from odd", nil); err == nil ||
		err.Error() != `select a from odd: row 2: column a: "three" is not a number` {
		t.Error(err)
	}
	if _, err := (sql.Options{}).Read(ctx, db, "select * from odd", nil); err == nil ||
		err.Error() != `select * from odd: column b must have numbers, Booleans, strings or times, got type BLOB; exclude it with data.drop (Roles.Drop in Go)` {
		t.Error(err)
	}
	if set, err := (sql.Options{Roles: datasets.Roles{Drop: []string{"b"}}}).Read(ctx, db, "select * from odd where a < 3", nil); err != nil || set.Rows() != 2 {
		t.Error(set, err)
	}
}

// TestChanges checks that passes over a snapshot see its rows, and that without a snapshot changed
// rows or another order are errors.
func TestChanges(t *testing.T) {
	const query = "select area, y from flats order by id"
	roles := sql.Options{Roles: datasets.Roles{Target: []string{"y"}}}
	db := dialects["sqlite"].open(t)
	fill(t, db, dialects["sqlite"].types, 100)
	for name, change := range map[string]string{
		"another row": "insert into flats select 1000, area, price, city, balcony, built, seen, weight, street, y from " +
			"flats where id = 1",
		"other values": "update flats set area = area + 1 where id = 50",
		"other order":  "update flats set id = -1 where id = 99",
		"a row less":   "delete from flats where id = 3",
	} {
		src, err := roles.Open(ctx, db, query, nil)
		if err != nil {
			t.Fatal(err)
		}
		gather(t, src)
		do(t, db, change)
		if _, err := datasets.ReadAll(ctx, src); !errors.Is(err, datasets.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Run("postgres", func(t *testing.T) {
		db := dialects["postgres"].open(t)
		fill(t, db, dialects["postgres"].types, 100)
		s, err := sql.Take(ctx, db)
		if err != nil {
			t.Fatal(err)
		}
		do(t, db, "update flats set area = 0")
		do(t, db, "delete from flats where id = 3")
		src, err := s.Open(ctx, roles, sql.Query{Text: query, Name: "flats"})
		if err != nil {
			t.Fatal(err)
		}
		first := gather(t, src)
		do(t, db, "delete from flats where id = 4")
		sourcetest.Equal(t, gather(t, src), first)
		if first.Rows() != 100 {
			t.Errorf("%d rows", first.Rows())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := datasets.ReadAll(ctx, src); err == nil || !strings.HasPrefix(err.Error(),
			"flats: the snapshot has ended: ") {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkRead reads rows of 10 columns, one pass into blocks.
func BenchmarkRead(b *testing.B) {
	for name, d := range dialects {
		b.Run(name, func(b *testing.B) {
			db := d.open(b)
			fill(b, db, d.types, 20_000)
			src, err := sql.Options{Roles: datasets.Roles{Target: []string{"y"}, Dates: map[string]datasets.Date{"built": {}, "seen": {}}}}.Open(ctx, db, "select * from flats order by id", nil)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := src.Blocks(ctx, func(datasets.Set) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// A query that does not end is an error after the timeout of its snapshot.
func TestTimeout(t *testing.T) {
	s, err := sql.Take(ctx, dialects["sqlite"].open(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Timeout = 50 * time.Millisecond
	for _, text := range []string{"select count(*) as a from n", "select i as a from n", "select i + 0.5 as a from n where i < 0"} {
		endless := sql.Query{Text: "with recursive n(i) as (select 1 union all select i + 1 from n) " + text, Name: "rows"}
		if _, err := s.Open(ctx, sql.Options{}, endless); err == nil ||
			err.Error() != "rows: the query takes longer than 50ms" {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := s.Digest(ctx, endless); err == nil || err.Error() != "rows: the query takes longer than 50ms" {
			t.Errorf("digest of %s: %v", text, err)
		}
	}
	if _, err := s.Digest(ctx, sql.Query{Text: "select 1"}); err != nil {
		t.Error(err)
	}
}
