package profile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/datasets"
)

// Drift is how rows differ from those that a profile describes.
type Drift struct {
	Rows     int     `json:"rows"`
	Training int     `json:"training_rows"`      // that the profile is of
	Inputs   []Input `json:"inputs"`             // the largest PSI first
	LeftOut  int     `json:"left_out,omitempty"` // inputs that the profile does not describe
}

// Input is how the values of an input differ.
type Input struct {
	Name          string  `json:"name"`
	Kind          string  `json:"kind"`           // numeric or categorical
	Missing       float64 `json:"missing"`        // share of the rows
	MissingBefore float64 `json:"missing_before"` // share of the training rows
	Unknown       float64 `json:"unknown"`        // share of the rows, with a category that the training rows had not
	Outside       float64 `json:"outside"`        // share of the rows, with a number below or above those of the training rows
	PSI           float64 `json:"psi"`            // population stability index
	Expected      float64 `json:"psi_expected"`   // of as many rows that do not differ, in the mean
	Differs       bool    `json:"differs"`        // in one of these, by more than chance
}

// The conventional marks of a PSI: below Some, rows are said not to have changed, and from Much on, much.
const (
	Some = 0.1
	Much = 0.25
)

// Compare tells how the rows of a source differ from those that then is of. Their schema is that of the training
// rows: categories are compared by name, columns by number.
//
// The score is the population stability index
//
//	PSI = Σ (q−p)·ln(q/p)
//
// over the bins of a column, where p is the share of the training rows in a bin and q that of the rows now, each with
// half a row added in every bin so that an empty one is no infinity. A numeric column has the bins of [Column.Counts],
// one below the training rows' minimum and one above their maximum; a categorical one a bin for each category that
// the profile lists, one for the others and one for unknown ones; each has one for missing values. Bins that no
// row is in, before or now, do not count. (See [Some] and [Much] for what it is said to mean; Siddiqi, Credit Risk
// Scorecards, 2006.)
//
// Of m rows that do not differ from n training rows, PSI is about (1/n+1/m)·χ² with one degree of freedom less
// than bins (Yurdakul and Naranjo, Journal of Risk Model Validation 14, 2020): its mean is Expected. Differs wants a
// PSI of 0.1 or more that chance hardly ever makes, by that law and by Pearson's test of homogeneity; or missing
// values, or numbers outside, in a hundredth of the rows more than is to be expected and more than chance hardly ever
// makes; or an unknown category in any row. Chance gives an alarm for any input in about one of a hundred comparisons,
// or four with as few as 30 training rows.
//
// Rows are read once, in memory that does not depend on them; weights and targets are not looked at. It fails where
// the source does, where the profile is of other columns, and with [datasets.ErrEmpty] where there are no rows.
func Compare(ctx context.Context, then Profile, source datasets.Source) (Drift, error) {
	_, cols := source.Dims()
	c, err := Against(then, source.Schema(), cols)
	if err != nil {
		return Drift{}, err
	}
	if err := source.Blocks(ctx, func(block datasets.Set) error { return c.Add(ctx, block) }); err != nil {
		return Drift{}, err
	}
	return c.Drift()
}

// Comparison compares rows with a profile, block by block, for who reads them for something else besides. It is for
// one goroutine at a time.
type Comparison struct {
	then   Profile
	cols   int
	rows   int
	inputs []*binned
}

// Against begins a comparison of rows of that schema, with so many columns. See [Compare].
func Against(then Profile, schema datasets.Schema, cols int) (*Comparison, error) {
	then.Targets = nil // rows may have none
	if err := then.check(schema, cols); err != nil {
		return nil, err
	}
	c := &Comparison{then: then, cols: cols}
	for j := range then.Columns {
		c.inputs = append(c.inputs, newBinned(&then.Columns[j], schema.Column(j), then.Rows))
	}
	return c, nil
}

// Add takes in a block of rows.
func (c *Comparison) Add(ctx context.Context, block datasets.Set) error {
	if block.Cols() != c.cols {
		return fmt.Errorf("profile: %d columns, wanted %d", block.Cols(), c.cols)
	}
	if block.Rows() == 0 {
		return nil
	}
	c.rows += block.Rows()
	return seeRows(ctx, c.inputs, block.X)
}

// Drift says how the rows added so far differ.
func (c *Comparison) Drift() (Drift, error) {
	if c.rows == 0 {
		return Drift{}, fmt.Errorf("profile: %w: no rows to compare", datasets.ErrEmpty)
	}
	out := Drift{Rows: c.rows, Training: c.then.Rows, Inputs: make([]Input, len(c.inputs)), LeftOut: c.then.LeftOut}
	for j, b := range c.inputs {
		out.Inputs[j] = b.compare(c.rows, c.then.Rows, len(c.inputs))
	}
	slices.SortStableFunc(out.Inputs, func(a, b Input) int { return cmp.Compare(b.PSI, a.PSI) })
	return out, nil
}

// Differing returns the inputs that differ by more than chance.
func (d Drift) Differing() []Input {
	return slices.DeleteFunc(slices.Clone(d.Inputs), func(i Input) bool { return !i.Differs })
}

// Warnings says of which inputs a model knows too little: one without any value now that had some, and one with an
// unknown category in more than a hundredth of the rows.
func (d Drift) Warnings() (out []string) {
	for _, i := range d.Inputs {
		if i.Missing == 1 && i.MissingBefore < 1 {
			out = append(out, fmt.Sprintf("column %q has no value in any row, and had one in %s of the training rows", i.Name, percent(1-i.MissingBefore)))
		}
		if i.Unknown > 0.01 {
			out = append(out, fmt.Sprintf("column %q has a category that the training rows had not in %s of the rows", i.Name, percent(i.Unknown)))
		}
	}
	return out
}

// percent writes a share.
func percent(v float64) string {
	digits := 0
	if v < 0.1 || v > 0.99 && v < 1 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %%", digits, 100*v)
}

// binned counts the values of an input by the bins of its profile.
type binned struct {
	of      *Column
	numeric bool
	before  []int // rows in each bin, of training rows
	now     []int
	codes   []int // bin of a category, by code
}

// The first bins are alike for all columns: missing values, unknown categories or numbers below the minimum, and
// other categories or numbers above the maximum.
const (
	binMissing = iota
	binBelow
	binAbove
	binFirst
)

const (
	binUnknown = binBelow
	binOther   = binAbove
)

func newBinned(c *Column, of datasets.Column, rows int) *binned {
	b := &binned{of: c, numeric: of.Kind != datasets.Categorical, before: make([]int, binFirst)}
	count := func(share float64) int { return int(math.Round(share * float64(rows))) }
	b.before[binMissing] = count(c.Missing)
	if b.numeric {
		if b.before = append(b.before, c.Counts...); len(c.Counts) == 0 {
			b.before = append(b.before, 0)
		}
	} else {
		b.before[binUnknown] = count(c.Unknown)
		values := float64(rows - b.before[binMissing])
		b.before[binOther] = int(math.Round(c.Other * values))
		bins := map[string]int{}
		for _, l := range c.Levels {
			bins[l.Name] = len(b.before)
			b.before = append(b.before, int(math.Round(l.Share*values)))
		}
		b.codes = make([]int, len(of.Categories))
		for code, name := range of.Categories {
			b.codes[code] = binOther
			if bin, ok := bins[name]; ok {
				b.codes[code] = bin
			}
		}
	}
	b.now = make([]int, len(b.before))
	return b
}

// bin returns that of a value.
func (b *binned) bin(v float64) int {
	switch {
	case v-v != 0:
		return binMissing
	case !b.numeric && v >= 0 && v < float64(len(b.codes)):
		return b.codes[int(v)]
	case !b.numeric:
		return binUnknown
	case len(b.of.Counts) == 0:
		return binFirst
	case v < b.of.Min:
		return binBelow
	case v > b.of.Max:
		return binAbove
	}
	return binFirst + sort.SearchFloat64s(b.of.Cuts, v)
}

func (b *binned) see(v float64)  { b.now[b.bin(v)]++ }
func (b *binned) seeZeros(n int) { b.now[b.bin(0)] += n }

// compare says how m rows differ from n, where that is asked of so many inputs.
func (b *binned) compare(m, n, inputs int) Input {
	out := Input{Name: b.of.Name, Kind: b.of.Kind, Missing: share(b.now[binMissing], m), MissingBefore: b.of.Missing}
	outside := 0
	if b.numeric {
		outside = b.now[binBelow] + b.now[binAbove]
		out.Outside = share(outside, m)
	} else {
		out.Unknown = share(b.now[binUnknown], m)
	}
	psi, bins := stability(b.before, b.now)
	noise := 1/float64(n) + 1/float64(m)
	free := float64(bins - 1)
	out.PSI, out.Expected = psi, free*noise
	chance := 0.01 / 3 / float64(inputs) // of each of three alarms
	changed := psi >= Some && min(psi/noise, homogeneity(b.before, b.now)) > distuv.ChiSquared{K: max(free, 1)}.Quantile(1-chance)
	out.Differs = changed || out.Unknown > 0 || moreMissing(b.now[binMissing], m, b.before[binMissing], n, chance) ||
		len(b.of.Counts) > 0 && moreOutside(outside, m-b.now[binMissing], n-b.before[binMissing], chance)
	return out
}

// stability returns the population stability index of counts, and in how many bins there are any.
func stability(before, now []int) (psi float64, bins int) {
	n, m := 0, 0
	for i := range now {
		if before[i]+now[i] > 0 {
			n, m, bins = n+before[i], m+now[i], bins+1
		}
	}
	half := float64(bins) / 2
	for i := range now {
		if before[i]+now[i] > 0 {
			p := (float64(before[i]) + 0.5) / (float64(n) + half)
			q := (float64(now[i]) + 0.5) / (float64(m) + half)
			psi += (q - p) * math.Log(q/p)
		}
	}
	return psi, bins
}

// homogeneity returns Pearson's statistic of the hypothesis that two lists of counts are of one law. It has the same
// law as the index relative to its noise; of bins that hardly any row is in, each of them says too much at times, the one
// where training rows are few, the other where the rows now are.
func homogeneity(before, now []int) (x float64) {
	n, m := 0, 0
	for i := range now {
		n, m = n+before[i], m+now[i]
	}
	ratio := math.Sqrt(float64(n) / float64(m))
	for i := range now {
		if both := before[i] + now[i]; both > 0 {
			d := float64(before[i])/ratio - float64(now[i])*ratio
			x += d * d / float64(both)
		}
	}
	return x
}

// least is what a share has to rise by, and in how many rows, so that anybody is told of it.
const (
	leastShare = 0.01
	leastRows  = 3
)

// moreMissing reports whether chance hardly ever makes k of m rows be without a value where k0 of n were: by Fisher's
// exact test, in which k has a hypergeometric law.
func moreMissing(k, m, k0, n int, chance float64) bool {
	if k < leastRows || share(k, m)-share(k0, n) < leastShare {
		return false
	}
	all := float64(k + k0)
	first := math.Exp(choose(float64(m), float64(k)) + choose(float64(n), float64(k0)) - choose(float64(m+n), all))
	return tail(first, k, min(m, k+k0), func(i float64) float64 {
		return (all - i) * (float64(m) - i) / ((i + 1) * (float64(n) - all + i + 1))
	}) < chance
}

// moreOutside reports whether chance hardly ever puts k of m numbers outside the range of n: of numbers that are all
// of one law, whatever that is, the share outside has the law Beta(2, n−1), and k a beta-binomial one.
func moreOutside(k, m, n int, chance float64) bool {
	if n < 2 || k < leastRows || share(k, m)-2/float64(n+1) < leastShare {
		return false
	}
	first := math.Exp(choose(float64(m), float64(k)) + beta(float64(k+2), float64(m-k+n-1)) - beta(2, float64(n-1)))
	return tail(first, k, m, func(i float64) float64 {
		return (float64(m) - i) * (i + 2) / ((i + 1) * (float64(m) - i + float64(n) - 2))
	}) < chance
}

// tail sums probabilities from k to last, where the first is given and each is ratio(i) times the one before, of i.
func tail(first float64, k, last int, ratio func(i float64) float64) float64 {
	sum, p := 0.0, first
	for i := k; i <= last && p > 1e-12*sum; i++ {
		sum += p
		p *= ratio(float64(i))
	}
	return sum
}

// choose is the logarithm of the number of ways to choose k of n.
func choose(n, k float64) float64 { return -beta(n-k+1, k+1) - math.Log(n+1) }

// beta is the logarithm of the beta function.
func beta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
