package profile

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

func profileOf(t testing.TB, set datasets.Set) Profile {
	t.Helper()
	p, err := Of(ctx, set.Source())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Without drift, false alarms are rare and the mean PSI is ExpectedPSI.
func TestNoAlarm(t *testing.T) {
	for _, c := range []struct{ training, rows int }{{300, 30}, {5000, 30}, {30, 30}, {50, 5000}, {2000, 500},
		{20_000, 20_000}} {
		alarms, tries, psi, expected := 0, 200, 0.0, 0.0
		if c.rows+c.training > 10_000 {
			tries = 20
		}
		for k := range tries {
			p := profileOf(t, mixed(c.training, uint64(2*k)))
			d, err := Compare(ctx, p, mixed(c.rows, uint64(2*k+1)).Source())
			if err != nil {
				t.Fatal(err)
			}
			alarms += min(len(d.Drifted()), 1)
			for _, in := range d.Inputs {
				psi += in.PSI
				expected += in.ExpectedPSI
			}
		}
		if alarms > 2+tries/50 {
			t.Errorf("%d of %d comparisons of %d rows with %d give an alarm", alarms, tries, c.rows, c.training)
		}
		if ratio := psi / expected; ratio < 0.6 || ratio > 1.4 {
			t.Errorf("%d rows with %d: the mean index is %.2f of what is expected", c.rows, c.training, ratio)
		}
	}
}

// Drift is found in the columns that changed, and in no others.
func TestDrift(t *testing.T) {
	p := profileOf(t, mixed(5000, 1))
	for name, c := range map[string]struct {
		change func(row []float64)
		column string
		look   func(in InputDrift) bool
	}{
		"shifted": {func(r []float64) { r[0]++ }, "a", func(in InputDrift) bool {
			return in.PSI > LargeShift && in.OutOfRange < 0.05
		}},
		"scaled": {func(r []float64) { r[1] *= 100 }, "b", func(in InputDrift) bool {
			return in.PSI > LargeShift && in.OutOfRange > 0.8
		}},
		"missing": {func(r []float64) { r[0] = math.NaN() }, "a",
			func(in InputDrift) bool { return in.Missing == 1 && in.PSI > LargeShift }},
		"never 0": {func(r []float64) { r[2] = max(r[2], 0.001) }, "often",
			func(in InputDrift) bool { return in.PSI > LargeShift && in.OutOfRange == 0 }},
		"one level": {func(r []float64) { r[3] = 1 }, "colour", func(in InputDrift) bool { return in.PSI > LargeShift }},
		"unknown": {func(r []float64) { r[3] = datasets.Unknown }, "colour",
			func(in InputDrift) bool { return in.Unknown == 1 && in.PSI > LargeShift }},
		"infinities": {func(r []float64) { r[0] = math.Inf(1) }, "a", func(in InputDrift) bool { return in.Missing == 1 }},
	} {
		set := mixed(400, 2)
		for i := range 400 {
			c.change(set.X.(*mat.Dense).RawRowView(i))
		}
		d, err := Compare(ctx, p, set.Source())
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Drifted(); len(got) != 1 || got[0].Name != c.column || !c.look(got[0]) || d.Inputs[0].Name != c.column {
			t.Errorf("%s: %+v", name, d)
		}
		thin := set
		thin.X = matrices.CSRFromDense(set.X)
		if other, err := Compare(ctx, p, blocks{thin, 33}); err != nil || !reflect.DeepEqual(other, d) {
			t.Errorf("%s: sparse rows compare as %+v (%v), dense ones as %+v", name, other, err, d)
		}
	}
}

// TestCompareByHand compares with a small example computed by hand.
func TestCompareByHand(t *testing.T) {
	column := func(values ...float64) datasets.Set {
		return datasets.Set{X: mat.NewDense(len(values), 1, values),
			Schema: datasets.Schema{Columns: []datasets.Column{{Name: "n"}}}}
	}
	p := profileOf(t, column(0, 0, 0, 1))
	d, err := Compare(ctx, p, column(0, 1, 2, math.NaN(), 0.5).Source())
	if err != nil {
		t.Fatal(err)
	}
	// bins: missing, above 1, up to 0, up to 1
	want := 0.0
	for _, c := range [][2]float64{{0, 1}, {0, 1}, {3, 1}, {1, 2}} {
		was, is := (c[0]+0.5)/6, (c[1]+0.5)/7
		want += (is - was) * math.Log(is/was)
	}
	in := d.Inputs[0]
	if math.Abs(in.PSI-want) > 1e-15 || in.Missing != 0.2 || in.OutOfRange != 0.2 ||
		math.Abs(in.ExpectedPSI-3*(1./4+1./5)) > 1e-15 || d.Rows != 5 || d.TrainingRows != 4 || in.Drifted {
		t.Errorf("%+v, want a PSI of %v", d, want)
	}
}

// Unknown categories and missing columns give warnings.
func TestWarnings(t *testing.T) {
	p := profileOf(t, mixed(1000, 1))
	set := mixed(100, 2)
	for i := range 100 {
		set.X.(*mat.Dense).Set(i, 0, math.NaN())
		if i%25 == 0 {
			set.X.(*mat.Dense).Set(i, 3, datasets.Unknown)
		}
	}
	d, err := Compare(ctx, p, set.Source())
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(d.Warnings(), "\n")
	if !strings.HasPrefix(got, `column "a" is missing in all rows, but had values in 98 % of the training rows`) ||
		!strings.HasSuffix(got, `column "colour" has unknown categories in 4.0 % of the rows`) {
		t.Error(got)
	}
}

// Columns that do not match the profile are rejected.
func TestOtherColumns(t *testing.T) {
	set := mixed(50, 1)
	p := profileOf(t, set)
	for name, change := range map[string]func(s *datasets.Set){
		"another name": func(s *datasets.Set) { s.Schema.Columns[1].Name = "z" },
		"another kind": func(s *datasets.Set) { s.Schema.Columns[1].Kind = datasets.Categorical },
		"fewer":        func(s *datasets.Set) { s.X, s.Schema.Columns = mat.NewDense(50, 3, nil), s.Schema.Columns[:3] },
		"other levels": func(s *datasets.Set) { s.Schema.Columns[3].Categories = []string{"mauve"} },
	} {
		other := set
		other.Schema.Columns = slices.Clone(set.Schema.Columns)
		change(&other)
		if _, err := Compare(ctx, p, other.Source()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c, err := NewComparison(p, set.Schema, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Drift(); !errors.Is(err, datasets.ErrEmpty) {
		t.Errorf("no rows: %v", err)
	}
}

// References: scipy.stats.fisher_exact(alternative="greater"), and the tail of betabinom(m, 2,
// n-1).pmf.
func TestChance(t *testing.T) {
	for _, c := range []struct {
		k, m, k0, n     int
		fisher, outside float64
	}{{4, 30, 8, 300, 0.01651308051, 0.0002643909269}, {300, 1000, 200, 2000, 2.403058527e-41, 1.422546765e-156},
		{50, 100, 0, 40, 3.38652732e-10, 7.864268999e-09}, {12, 100, 1, 900, 6.414421737e-12, 6.414421737e-12}} {
		if !missingSignificant(c.k, c.m, c.k0, c.n, c.fisher*1.000001) ||
			missingSignificant(c.k, c.m, c.k0, c.n, c.fisher*0.999999) {
			t.Errorf("%d of %d after %d of %d missing: the chance is not %v", c.k, c.m, c.k0, c.n, c.fisher)
		}
		if !outOfRangeSignificant(c.k, c.m, c.n, c.outside*1.000001) ||
			outOfRangeSignificant(c.k, c.m, c.n, c.outside*0.999999) {
			t.Errorf("%d of %d outside of %d: the chance is not %v", c.k, c.m, c.n, c.outside)
		}
	}
}

// Reference: scipy.stats.chi2_contingency.
func TestHomogeneity(t *testing.T) {
	if got, want := chiSquared([]int{120, 80, 0, 300}, []int{30, 50, 5, 15}),
		102.8043956043956; math.Abs(got-want) > 1e-12*want {
		t.Errorf("%v, want %v", got, want)
	}
}

func BenchmarkCompare(b *testing.B) {
	set := mixed(100_000, 1)
	p := profileOf(b, set)
	for b.Loop() {
		if _, err := Compare(ctx, p, set.Source()); err != nil {
			b.Fatal(err)
		}
	}
}

// longTail returns n rows with two columns of categories: a Zipf distribution, and equal probabilities. Categories have
// the names of their numbers, known lists those of the schema.
func longTail(n, levels int, seed uint64, known []datasets.Column) datasets.Set {
	rng := rand.New(rand.NewPCG(seed, 2))
	zipf := rand.NewZipf(rng, 1.3, 4, uint64(levels-1))
	columns := []datasets.Column{{Name: "zipf", Kind: datasets.Categorical}, {Name: "even", Kind: datasets.Categorical}}
	if known != nil {
		columns = known
	}
	X, codes := mat.NewDense(n, 2, nil), make([]map[string]int, 2)
	for j := range codes {
		codes[j] = map[string]int{}
		for code, name := range columns[j].Categories {
			codes[j][name] = code
		}
	}
	for i := range n {
		for j, v := range []int{int(zipf.Uint64()), rng.IntN(levels)} {
			code, ok := codes[j][strconv.Itoa(v)]
			switch {
			case !ok && known != nil:
				X.Set(i, j, datasets.Unknown)
				continue
			case !ok:
				code = len(codes[j])
				codes[j][strconv.Itoa(v)] = code
				columns[j].Categories = append(columns[j].Categories, strconv.Itoa(v))
			}
			X.Set(i, j, float64(code))
		}
	}
	return datasets.Set{X: X, Schema: datasets.Schema{Columns: columns}}
}

// Without drift, columns with rare categories do not raise more alarms than others.
func TestNoAlarmOfRareCategories(t *testing.T) {
	const tries = 200
	for _, c := range []struct{ training, rows, levels int }{{300, 100, 40}, {300, 3000, 100}, {300, 3000, 45},
		{2000, 500, 3000}, {2000, 500, 700}, {5000, 5000, 2000}, {100, 100, 1000}} {
		alarms, unknown, expected, missed := 0, 0.0, 0.0, 0
		for k := range uint64(tries) {
			training := longTail(c.training, c.levels, 2*k, nil)
			p, rows := profileOf(t, training), longTail(c.rows, c.levels, 2*k+1, training.Schema.Columns)
			d, err := Compare(ctx, p, rows.Source())
			if err != nil {
				t.Fatal(err)
			}
			alarms += min(len(d.Drifted()), 1)
			for _, in := range d.Inputs {
				unknown += in.Unknown / tries
				expected += in.ExpectedUnknown / tries
			}
			for i := 0; i < c.rows; i += 2 {
				rows.X.(*mat.Dense).Set(i, 0, datasets.Unknown)
			}
			if d, err = Compare(ctx, p, rows.Source()); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(d.Drifted(), func(in InputDrift) bool { return in.Name == "zipf" }) {
				missed++
			}
		}
		if alarms > 6 || missed > tries/4 {
			t.Errorf("%+v: %d of %d comparisons give an alarm, and %d none of unknown categories", c, alarms, tries, missed)
		}
		if math.Abs(unknown-expected) > 0.01+0.05*expected {
			t.Errorf("%+v: the mean fraction of unknown categories is %v, want %v", c, unknown, expected)
		}
	}
}
