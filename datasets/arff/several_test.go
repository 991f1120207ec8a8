package arff_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
)

// TestSeveralFiles checks that the rows of several files equal those of one file with all rows and
// declared categories.
func TestSeveralFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"all.arff": "@relation r\n@attribute x numeric\n@attribute k {red,blue,green}\n@attribute y " +
			"{no,yes}\n@data\n1,red,no\n2,blue,yes\n?,green,no\n3,blue,no\n",
		"a.arff": "@relation r\n@attribute x numeric\n@attribute k {red,blue}\n@attribute y " +
			"{no,yes}\n@data\n1,red,no\n2,blue,yes\n",
		"b.arff": "@relation r\n@attribute y {no,yes}\n@attribute x real\n@attribute k {blue,green}\n@data\n% " +
			"all\nno,?,green\nno,3,blue\n",
		"none.arff": "@relation r\n@attribute x numeric\n@attribute k {red,blue}\n@attribute y {no,yes}\n@data\n",

		"sparse.arff": "@relation r\n@attribute x numeric\n@attribute k {red,blue}\n@attribute y {no,yes}\n@data\n{0 " +
			"5}\n{1 blue, 2 yes}\n",
		"sparse2.arff": "@relation r\n@attribute y {no,yes}\n@attribute k {red,green}\n@attribute x numeric\n@data\n{1 " +
			"green, 2 7}\n",
		"sparseall.arff": "@relation r\n@attribute x numeric\n@attribute k {red,blue,green}\n@attribute y " +
			"{no,yes}\n@data\n{0 5}\n{1 blue, 2 yes}\n{0 7, 1 green}\n",
		"sparse3.arff": "@relation r\n@attribute y {no,yes}\n@attribute k {blue,red}\n@attribute x numeric\n@data\n{1 " +
			"red, 2 7}\n",
		"kinds.arff": "@relation r\n@attribute x {1,2}\n@attribute k {red,blue}\n@attribute y " +
			"{no,yes}\n@data\n1,red,no\n",
		"weights.arff": "@relation r\n@attribute x numeric\n@attribute k {red,blue}\n@attribute y " +
			"{no,yes}\n@data\n1,red,no,{2}\n",
		"wrong.arff": "@relation r\n@attribute x numeric\n@attribute k {red,blue}\n@attribute y " +
			"{no,yes}\n@data\n1,red,no\n1,pink,no\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	o := arff.Options{Roles: datasets.Roles{Target: []string{"y"}}}
	for whole, paths := range map[string][]string{"all.arff": {"none.arff", "a.arff", "b.arff"},
		"sparseall.arff": {"sparse.arff", "none.arff", "sparse2.arff"}} {
		src, err := o.Open(ctx, paths[0], paths[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := datasets.ReadAll(ctx, src)
		if err != nil {
			t.Fatal(err)
		}
		want, err := o.ReadFile(ctx, whole)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(got.Schema), fmt.Sprint(want.Schema); a != b {
			t.Errorf("schema %s, want %s", a, b)
		}
		sourcetest.Equal(t, got, want)
		sourcetest.Run(t, src)
	}
	for other, want := range map[string]string{
		"sparse.arff":  "sparse.arff: its rows are sparse, but those of a.arff are not",
		"weights.arff": "weights.arff: all or no files must have weights, but only weights.arff has them",
		"kinds.arff":   "kinds.arff:2: column x must have the same kind as in a.arff",
		"wrong.arff":   `wrong.arff:7: column k: "pink" is not a declared level`,
	} {
		if _, err := o.Open(ctx, "a.arff", other); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", other, err, want)
		}
	}
	if _, err := o.Open(ctx, "sparse.arff", "sparse3.arff"); err == nil ||
		err.Error() != `sparse3.arff:3: column k: sparse rows omit category "blue", the first in the file, which is not the first in sparse.arff` {
		t.Error(err)
	}
	if _, err := o.Open(ctx, "none.arff", "none.arff"); err == nil ||
		err.Error() != "none.arff: no rows" {
		t.Error(err)
	}
}
