package csv_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/transformer"
)

const films = "genres,size,title,y\n" +
	"Action|Comedy,8 GB,big film,1\nComedy,,small film,2\n,16GB,big film,3\nDrama | Action|Drama,\"1.5 GB\",other,4\n"

var filmRoles = datasets.Roles{Target: []string{"y"}, Formats: map[string]datasets.Format{
	"genres": {Delimiter: "|"}, "size": {Unit: "GB"}, "title": {Name: true}}}

// TestFormats reads numbers with a unit, names and lists of labels, and other rows by the same schema.
func TestFormats(t *testing.T) {
	for _, hold := range []int64{0, 1 << 20} {
		src, err := csv.Options{Roles: filmRoles, Hold: hold,
			FS: fstest.MapFS{"films.csv": {Data: []byte(films)}}}.Open(t.Context(), "films.csv")
		if err != nil {
			t.Fatal(err)
		}
		set, err := datasets.ReadAll(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		c := set.Schema.Columns
		if !slices.Equal(c[0].Categories, []string{"Action", "Comedy", "Drama"}) || c[0].Kind != datasets.Text ||
			c[1].Kind != datasets.Numeric || c[1].Format.Unit != "GB" ||
			!slices.Equal(c[2].Categories, []string{"big film", "other", "small film"}) {
			t.Fatalf("schema %+v", c)
		}
		for i, want := range []float64{8, math.NaN(), 16, 1.5} {
			if got := set.X.At(i, 1); got != want && !(got != got && want != want) {
				t.Errorf("hold %d: size of row %d = %v, want %v", hold, i, got, want)
			}
		}
		later := "title,genres,size\nnew,Comedy|Western,2 GB\n"
		rows, err := csv.Options{Roles: datasets.Roles{Schema: &set.Schema}}.Read(t.Context(), strings.NewReader(later))
		if err != nil || rows.X.At(0, 1) != 2 {
			t.Fatalf("rows of the schema: %v, %v", rows.X, err)
		}
		checkFilmLabels(t, set, rows)
	}
}

// checkFilmLabels encodes the text columns of films and of later rows.
func checkFilmLabels(t *testing.T, set, later datasets.Set) {
	t.Helper()
	formatted := func(s datasets.Set) datasets.Set {
		out, err := datasets.Set{}.WithText("genres", column(s, 0))
		if err == nil {
			out, err = out.WithText("title", column(s, 2))
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Schema.Columns = []datasets.Column{set.Schema.Columns[0], set.Schema.Columns[2]}
		return out
	}
	fitted, err := transformer.NewOneHot().Fit(t.Context(), formatted(set))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rows datasets.Set
		want [][]float64
	}{
		{set, [][]float64{{1, 1, 0, 1, 0, 0}, {0, 1, 0, 0, 0, 1}, {0, 0, 0, 1, 0, 0}, {1, 0, 1, 0, 1, 0}}},
		{later, [][]float64{{0, 1, 0, 0, 0, 0}}},
	} {
		Z, err := fitted.Transform(t.Context(), formatted(c.rows).X)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range c.want {
			for j, v := range row {
				if Z.At(i, j) != v {
					t.Errorf("row %d, column %d: %v, want %v", i, j, Z.At(i, j), v)
				}
			}
		}
	}
	out := fitted.(interface {
		OutputSchema(in datasets.Schema) datasets.Schema
	}).OutputSchema(formatted(set).Schema)
	if c := out.Columns[0]; c.Name != "genres=Action" || c.EncodedFrom != "genres" || c.EncodedKind != datasets.Categorical {
		t.Errorf("column %+v", c)
	}
}

// column returns the strings of a text column.
func column(s datasets.Set, j int) []string {
	out := make([]string, s.Rows())
	text := s.X.(interface {
		Text(i, j int) (string, bool)
	})
	for i := range out {
		out[i], _ = text.Text(i, j)
	}
	return out
}

// TestWrongUnit names the row and the column of a value with another unit or none.
func TestWrongUnit(t *testing.T) {
	for _, value := range []string{"8 MB", "8", "GB", "about 8 GB"} {
		_, err := csv.Options{Roles: datasets.Roles{
			Target: []string{"y"}, Formats: map[string]datasets.Format{"ram": {Unit: "GB"}}}}.Read(
			t.Context(), strings.NewReader("ram,y\n4 GB,1\n"+value+",2\n"))
		want := "input:3: column ram: must be a number with the unit GB, such as 8 GB, got \"" + value + "\""
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	roles := filmRoles
	roles.Formats = map[string]datasets.Format{"ram": {Unit: "GB"}}
	_, err := csv.Options{Roles: roles}.Read(t.Context(), strings.NewReader(films))
	if err == nil || !strings.Contains(err.Error(), `kinds: no column "ram"`) {
		t.Errorf("%v", err)
	}
}
