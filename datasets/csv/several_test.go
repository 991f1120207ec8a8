package csv_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
)

// parts writes rows into one file and, cut anywhere and with columns in any order, into several.
type parts struct {
	header []string
	rows   [][]string
}

// draw returns rows with columns of all kinds, some with numbers before strings, or strings before
// numbers.
func draw(rng *rand.Rand) parts {
	p := parts{header: []string{"number", "level", "late", "early", "gap", "group", "weight", "y"}}
	n := 1 + rng.IntN(300)
	for i := range n {
		late, early := fmt.Sprint(rng.IntN(5)), fmt.Sprint(rng.IntN(4))
		if i >= n/2 && i%2 == 0 {
			late = string(rune('a' + rng.IntN(3)))
		}
		if i == 0 {
			early = "zero"
		}
		gap := ""
		if rng.IntN(3) == 0 {
			gap = fmt.Sprint(rng.NormFloat64())
		}
		p.rows = append(p.rows, []string{fmt.Sprint(rng.NormFloat64()), fmt.Sprintf("level %d", rng.IntN(20)), late, early,
			gap,
			fmt.Sprintf("g%d", rng.IntN(9)), fmt.Sprint(rng.IntN(3) + 1), []string{"no", "yes"}[min(i, rng.IntN(2))]})
	}
	return p
}

func (p parts) write(t *testing.T, path string, from, to int, order []int) string {
	t.Helper()
	var b strings.Builder
	line := func(row []string) {
		for k, j := range order {
			if k > 0 {
				b.WriteByte(',')
			}
			b.WriteString(row[j])
		}
		b.WriteByte('\n')
	}
	line(p.header)
	for _, row := range p.rows[from:to] {
		line(row)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Rows in several files are those of one file that has them all, to the last bit: schema, values, groups, weights
// and blocks.
func TestSeveralFiles(t *testing.T) {
	ctx := context.Background()
	compared := 0
	defer func() {
		if compared < 40 {
			t.Errorf("%d sources were compared", compared)
		}
	}()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := draw(rng)
		dir := t.TempDir()
		same := make([]int, len(p.header))
		for j := range same {
			same[j] = j
		}
		whole := p.write(t, filepath.Join(dir, "whole.csv"), 0, len(p.rows), same)
		var paths []string
		for from := 0; from < len(p.rows) || len(paths) == 0; {
			to := min(len(p.rows), from+rng.IntN(100))
			order := same
			if from > 0 {
				order = rng.Perm(len(same))
			}
			paths = append(paths, p.write(t, filepath.Join(dir, fmt.Sprintf("part-%d.csv", len(paths))), from, to, order))
			from = to
		}
		empty := filepath.Join(dir, "empty.csv")
		if err := os.WriteFile(empty, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		paths = slices.Insert(paths, rng.IntN(len(paths)+1), empty)
		o := csv.Options{Roles: datasets.Roles{Target: []string{"y"}, Weight: "weight", Group: "group",
			Passthrough: []string{"level", "gap"}}}
		one, oneErr := o.Open(ctx, whole)
		all, allErr := o.Open(ctx, paths[0], paths[1:]...)
		if oneErr != nil || allErr != nil {
			// A string among numbers: the same error at another position.
			if oneErr == nil || allErr == nil {
				t.Fatalf("seed %d: one file: %v; several: %v", seed, oneErr, allErr)
			}
			continue
		}
		sameSource(t, all, one)
		compared++
	}
}

func sameSource(t *testing.T, got, want datasets.Source) {
	t.Helper()
	if a, b := fmt.Sprintf("%+v", got.Schema()), fmt.Sprintf("%+v", want.Schema()); a != b {
		t.Fatalf("schema %s\nwanted %s", a, b)
	}
	n, d := got.Dims()
	if m, e := want.Dims(); n != m || d != e {
		t.Fatalf("%d×%d, want %d×%d", n, d, m, e)
	}
	var sizes [2][]int
	var sets [2]datasets.Set
	for k, src := range []datasets.Source{got, want} {
		var err error
		if sets[k], err = datasets.ReadAll(context.Background(), src); err != nil {
			t.Fatal(err)
		}
		if err := src.Blocks(context.Background(), func(b datasets.Set) error {
			sizes[k] = append(sizes[k], b.Rows())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	sourcetest.Equal(t, sets[0], sets[1])
	if !slices.Equal(sizes[0], sizes[1]) {
		t.Fatalf("blocks of %d rows, want %d", sizes[0], sizes[1])
	}
}

// TestSeveralFilesConformance runs the conformance test of sources on several files.
func TestSeveralFilesConformance(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	p := draw(rng)
	for len(p.rows) < 5000 {
		p.rows = append(p.rows, draw(rng).rows...)
	}
	dir := t.TempDir()
	var paths []string
	for k := range 7 {
		paths = append(paths, p.write(t, filepath.Join(dir, fmt.Sprintf("part-%d.csv", k)), k*len(p.rows)/7,
			(k+1)*len(p.rows)/7, rng.Perm(len(p.header))))
	}
	src, err := csv.Options{Roles: datasets.Roles{Target: []string{"y"},
		Kinds: map[string]datasets.Kind{"late": datasets.Categorical, "early": datasets.Categorical}}}.Open(context.Background(), paths[0], paths[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, src)
}

// Errors in one of several files have its name and line.
func TestSeveralFilesErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"a.csv": "x,k,y\n1,red,no\n2,blue,yes\n", "b.csv": "y,x,k\nno,3,red\n", "c.csv": "x,k,y\n4,red,no\nfive,red,no\n",
		"short.csv": "x,y\n1,no\n", "other.csv": "x,z,y\n1,2,no\n", "cut.csv": "x,k,y\n1,red\n",
		"twice.csv": "x,x,y\n1,2,no\n",
		"lacks.csv": "x,k,y\n1,red,no\n1,red,\n2,red,\n", "lacks2.csv": "y,k,x\n,red,1\n", "empty.csv": "",
		"header.csv": "x,k,y\n", "latin.csv": "x,k,y\n1,caf\xe9,no\n",
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	numeric := map[string]datasets.Kind{"x": datasets.Numeric}
	for _, c := range []struct {
		paths []string
		o     csv.Options
		want  string
	}{
		{[]string{"a.csv", "short.csv"}, csv.Options{}, `short.csv: missing column "k", which a.csv has`},
		{[]string{"short.csv", "a.csv"}, csv.Options{}, `a.csv: column "k", which short.csv has not`},
		{[]string{"a.csv", "b.csv", "other.csv", "short.csv"}, csv.Options{},
			"other.csv: missing column \"k\", which a.csv has; column \"z\", which a.csv has not\nshort.csv: missing column " +
				"\"k\", which a.csv has"},
		{[]string{"a.csv", "cut.csv"}, csv.Options{}, `cut.csv:2: number of fields must be 3, got 2`},
		{[]string{"a.csv", "twice.csv"}, csv.Options{}, `twice.csv:1: columns 1 and 2 are both called "x"`},
		{[]string{"a.csv", "b.csv", "c.csv"}, csv.Options{Roles: datasets.Roles{Kinds: numeric}},
			`c.csv:3: column x: "five" is not a number`},
		{[]string{"a.csv", "latin.csv"}, csv.Options{},
			`latin.csv:2:6: column k: must be utf-8; set csv.encoding to one of latin-1, windows-1252, utf-16`},
		{[]string{"a.csv", "lacks.csv", "lacks2.csv"}, csv.Options{Roles: datasets.Roles{Target: []string{"y"},
			Schema: &datasets.Schema{Columns: []datasets.Column{{Name: "x"},
				{Name: "k", Kind: datasets.Categorical, Categories: []string{"red", "blue"}}},
				Targets: []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}}}},
			"lacks.csv:3: column y: the target is missing; set missing_target: drop to skip such rows; also in line 4, " +
				"lacks2.csv:2"},
		{[]string{"empty.csv", "empty.csv"}, csv.Options{}, "empty.csv: empty file"},
		{[]string{"header.csv", "empty.csv", "header.csv"}, csv.Options{}, "header.csv and 1 more: no rows"},
		{[]string{"a.csv", "gone.csv"}, csv.Options{}, "open gone.csv: no such file or directory"},
	} {
		src, err := c.o.Open(context.Background(), c.paths[0], c.paths[1:]...)
		if err == nil {
			_, err = datasets.ReadAll(context.Background(), src)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v\nwanted %s", c.paths, err, c.want)
		}
	}
	// The first missing value is reported with its file.
	if err := os.WriteFile("gap.csv", []byte("k,y,x\nred,no,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := csv.Options{}.Open(context.Background(), "a.csv", "b.csv", "gap.csv")
	if err != nil {
		t.Fatal(err)
	}
	content, err := datasets.ScanContent(context.Background(), src)
	if err != nil || content[0].Missing == nil || content[0].Missing.String() != "gap.csv:2" ||
		content[0].Missing.Row != 3 {
		t.Errorf("%v, %v", content[0].Missing, err)
	}
}
