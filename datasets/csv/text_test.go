package csv_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// messages writes n rows with text, which is missing in every tenth one, in a file large enough for several parts.
func messages(t *testing.T, n int) (path string, docs []string) {
	t.Helper()
	var file strings.Builder
	file.WriteString("id,message,city,y\n")
	for i := range n {
		text := ""
		if i%10 != 0 {
			text = fmt.Sprintf("message number %d was sent on day %d", i, i%31)
		}
		docs = append(docs, text)
		fmt.Fprintf(&file, "%d,%s,%s,%d\n", i, text, []string{"Rome", "Oslo"}[i%2], i%3)
	}
	path = filepath.Join(t.TempDir(), "messages.csv")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, docs
}

func TestTextColumns(t *testing.T) {
	ctx := context.Background()
	path, docs := messages(t, 30_000)
	for name, o := range map[string]csv.Options{
		"inferred":  {Roles: datasets.Roles{Target: []string{"y"}}},
		"in memory": {Roles: datasets.Roles{Target: []string{"y"}}, Hold: 1 << 30},
		"declared": {Roles: datasets.Roles{Target: []string{"y"},
			Kinds: map[string]datasets.Kind{"message": datasets.Text, "city": datasets.Text}}, Hold: 1 << 30},
	} {
		src, err := o.Open(ctx, path)
		if err != nil {
			t.Fatal(name, err)
		}
		kinds := []datasets.Kind{}
		for _, c := range src.Schema().Columns {
			kinds = append(kinds, c.Kind)
		}
		want := []datasets.Kind{datasets.Numeric, datasets.Text, datasets.Categorical}
		if name == "declared" {
			want[2] = datasets.Text
		}
		if !slices.Equal(kinds, want) {
			t.Fatalf("%s: kinds %v, want %v", name, kinds, want)
		}
		again, err := csv.Options{Roles: datasets.Roles{Schema: ptr(src.Schema())}}.Open(ctx, path)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, s := range []datasets.Source{src, again} {
			set, err := datasets.ReadAll(ctx, s)
			if err != nil {
				t.Fatal(name, err)
			}
			if err := set.Check(); err != nil {
				t.Fatal(name, err)
			}
			X := textrows.Of(set.X)
			for i, want := range docs {
				if got, ok := X.Text(i, 1); got != want || ok != (want != "") || X.At(i, 0) != float64(i) {
					t.Fatalf("%s: row %d has the text %q, want %q", name, i, got, want)
				}
				if city, _ := X.Text(i, 2); name == "declared" && city != []string{"Rome", "Oslo"}[i%2] {
					t.Fatalf("%s: row %d has the text %q", name, i, city)
				}
			}
		}
	}
	_, err := csv.Options{Roles: datasets.Roles{Target: []string{"y"},
		Kinds: map[string]datasets.Kind{"y": datasets.Text}}}.Open(ctx, path)
	if err == nil || !strings.Contains(err.Error(), "must be a dense input to be text") {
		t.Error(err)
	}
}

func ptr[T any](v T) *T { return &v }

// TestTextColumnsAreNotRead checks that rows without inputs have missing strings, which can be copied.
func TestTextColumnsAreNotRead(t *testing.T) {
	path, _ := messages(t, 5000)
	src, err := csv.Options{Roles: datasets.Roles{Target: []string{"y"}}}.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := datasets.ReadAll(t.Context(), rowsource.DropInputs(src))
	if err != nil || set.Rows() != 5000 || set.Y[4999] != 4999%3 {
		t.Errorf("%d rows, %v", set.Rows(), err)
	}
}
