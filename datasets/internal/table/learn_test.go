package table

import (
	"context"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
)

// TestDeclaredLevels checks that declared categories are those of the column, whatever the values
// look like.
func TestDeclaredLevels(t *testing.T) {
	r := records{form: Form{Name: "f", Columns: []Column{{Name: "a", Declared: true, Kind: datasets.Categorical,
		Categories: []string{"1", "2", "none"}}}}}
	for range 20 {
		r.rows = append(r.rows, []string{"1"})
	}
	r.rows = append(r.rows, []string{"none"})
	src, err := open(context.Background(), r, datasets.Roles{})
	if err != nil {
		t.Fatal(err)
	}
	if c := src.Schema().Columns[0]; c.Kind != datasets.Categorical || len(c.Categories) != 3 {
		t.Errorf("%v", c)
	}
}

// open returns the records of r, which are not stored.
func open(ctx context.Context, r Reader, roles datasets.Roles) (datasets.Source, error) {
	return OpenAll(ctx, []string{""}, func(string) (Reader, error) { return r, nil }, roles, 0)
}
