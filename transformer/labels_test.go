package transformer_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/graph"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/transformer"
)

// TestNamesAreCategories checks that steps of categories map names as they map the same categories, after saving and
// loading too, also unknown and missing ones, and refuse lists of labels.
func TestNamesAreCategories(t *testing.T) {
	rows := "title,city,y\n"
	for i := range 60 {
		title := []string{"nurse", "senior nurse", "clerk", ""}[i%4]
		rows += fmt.Sprintf("%s,%s,%d\n", title, []string{"a", "b"}[i%2], i%7+i%4)
	}
	read := func(text string, roles datasets.Roles) datasets.Set {
		set, err := csv.Options{Roles: roles}.Read(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	roles := datasets.Roles{Target: []string{"y"}, Task: datasets.Regression}
	roles.Kinds = map[string]datasets.Kind{"title": datasets.Categorical, "city": datasets.Categorical}
	coded := read(rows, roles)
	roles.Kinds = map[string]datasets.Kind{"city": datasets.Categorical}
	roles.Formats = map[string]datasets.Format{"title": {Name: true}}
	named := read(rows, roles)
	roles.Formats = map[string]datasets.Format{"title": {Delimiter: "|"}}
	lists := read(rows, roles)
	const later = "title,city\nnurse,b\nsurgeon,a\n,b\n"
	codedLater := read(later, datasets.Roles{Schema: &coded.Schema})
	namedLater := read(later, datasets.Roles{Schema: &named.Schema})
	for name, spec := range map[string]transformer.Fitter{"ordinal": transformer.Ordinal{Unknown: "missing"},
		"hash": transformer.NewHash(), "target_encode": transformer.NewTargetEncode()} {
		want, err := spec.Fit(t.Context(), coded)
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := spec.Fit(t.Context(), named)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		saved, err := model.Record(fitted.(model.Stateful))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		loaded, err := spec.Fit(t.Context(), coded) // of the same type
		if err != nil || model.Restore(saved, loaded.(model.Stateful)) != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, got := range []transformer.Transformer{fitted, loaded} {
			for _, pair := range [][2]datasets.Set{{coded, named}, {codedLater, namedLater}} {
				a, err := want.Transform(t.Context(), pair[0].X)
				if err != nil {
					t.Fatal(err)
				}
				b, err := got.Transform(t.Context(), pair[1].X)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				n, d := a.Dims()
				for i := range n {
					for j := range d {
						if x, y := a.At(i, j), b.At(i, j); x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
							t.Fatalf("%s: row %d, column %d: %v, want %v", name, i, j, y, x)
						}
					}
				}
			}
		}
		if _, err := fitted.Transform(t.Context(), coded.X); err == nil {
			t.Errorf("%s: codes instead of names are accepted", name)
		}
		if _, err := fitted.(interface {
			Export(g *graph.Graph, rows graph.Value) (graph.Value, error)
		}).Export(nil, graph.Value{}); err == nil {
			t.Errorf("%s: names are exported", name)
		}
		const problem = "column title must have one category in each row, got lists of labels"
		if _, err = spec.Fit(t.Context(), lists); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: lists of labels: %v", name, err)
		}
	}
}
