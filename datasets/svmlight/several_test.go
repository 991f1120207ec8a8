package svmlight_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/datasets/svmlight"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSeveralFiles checks that the rows of several files equal those of one file with all rows.
func TestSeveralFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 2))
	var all strings.Builder
	var paths []string
	for k := range 5 {
		var part strings.Builder
		for range rng.IntN(1500) {
			fmt.Fprintf(&part, "%d qid:%d", rng.IntN(3+k), rng.IntN(9))
			for j := 1; j < 40+10*k; j += 1 + rng.IntN(20) {
				fmt.Fprintf(&part, " %d:%v", j, rng.NormFloat64())
			}
			part.WriteString("\n")
		}
		if k == 2 {
			part.Reset() // an empty file
		}
		paths = append(paths, fmt.Sprintf("part-%d.svm", k))
		write(t, paths[k], part.String())
		all.WriteString(part.String())
	}
	write(t, "all.svm", all.String())
	o := svmlight.Options{Task: datasets.Classification}
	src, err := o.Open(context.Background(), paths[0], paths[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := o.ReadFile(context.Background(), "all.svm")
	if err != nil {
		t.Fatal(err)
	}
	got, err := datasets.ReadAll(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(src.Schema()), fmt.Sprint(want.Schema); a != b {
		t.Errorf("schema %s, want %s", a, b)
	}
	sourcetest.Equal(t, got, want)
	sourcetest.Run(t, src)
}

// Errors in one of several files have its name and line.
func TestSeveralFilesErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.svm", "1 1:2\n2 3:4\n")
	write(t, "b.svm", "1 1:2\n2 x:4\n")
	write(t, "grouped.svm", "1 qid:3 1:2\n")
	write(t, "empty.svm", "")
	known := &datasets.Schema{Targets: []datasets.Column{{Name: "label", Kind: datasets.Categorical,
		Categories: []string{"1"}}}}
	for _, c := range []struct {
		paths []string
		o     svmlight.Options
		want  string
	}{
		{[]string{"a.svm", "b.svm"}, svmlight.Options{}, `b.svm:2: "x" is not a column number`},
		{[]string{"a.svm", "empty.svm", "grouped.svm"}, svmlight.Options{},
			"grouped.svm:1: some rows have a qid and others have none"},
		{[]string{"empty.svm", "a.svm"}, svmlight.Options{Width: 3, Schema: known},
			"a.svm:2: class 2 is not among those of the schema: 1"},
		{[]string{"empty.svm", "empty.svm"}, svmlight.Options{}, "empty.svm and 1 more: no rows"},
		{[]string{"empty.svm"}, svmlight.Options{}, "empty.svm: empty file"},
	} {
		src, err := c.o.Open(context.Background(), c.paths[0], c.paths[1:]...)
		if err == nil {
			_, err = datasets.ReadAll(context.Background(), src)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.paths, err, c.want)
		}
	}
}
