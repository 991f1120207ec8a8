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

// Drift describes how the rows of a source differ from a profile.
type Drift struct {
	Rows         int          `json:"rows"`
	TrainingRows int          `json:"training_rows"`      // rows of the profile
	Inputs       []InputDrift `json:"inputs"`             // in descending order of PSI
	Omitted      int          `json:"left_out,omitempty"` // inputs that the profile omits
}

// InputDrift describes the drift of one input.
type InputDrift struct {
	Name            string  `json:"name"`
	Kind            string  `json:"kind"`           // numeric, categorical or text
	Missing         float64 `json:"missing"`        // fraction of the rows
	MissingTraining float64 `json:"missing_before"` // fraction of the training rows
	// fraction of the rows with a category, or mean fraction of the words of a text, that is not in the
	// training rows
	Unknown         float64 `json:"unknown"`
	ExpectedUnknown float64 `json:"unknown_expected,omitempty"` // without drift
	// fraction of the rows below the minimum or above the maximum of the training rows
	OutOfRange  float64 `json:"outside"`
	PSI         float64 `json:"psi"`          // population stability index
	ExpectedPSI float64 `json:"psi_expected"` // its expectation without drift
	Drifted     bool    `json:"differs"`      // whether any of them is significant
}

// Conventional thresholds of PSI: no shift below ModerateShift, a large shift from LargeShift.
const (
	ModerateShift = 0.1
	LargeShift    = 0.25
)

// Compare returns the drift of the rows of a source from a profile. The schema must be that of the
// training rows: categories are compared by name, columns by index.
//
// The drift of a column is measured by the population stability index
//
//	PSI = Σ (q−p)·ln(q/p)
//
// over the bins of a column, where p is the fraction of the training rows in a bin and q that of
// the source. Half a row is added to every bin to avoid infinite values. A numeric column has the
// bins of [Column.Counts] and two for values outside the range of the training rows. A categorical
// column has one bin per listed category, one for other categories and one for unknown ones, whose
// expected fraction is ExpectedUnknown. Of more than 50 categories, those with fewer than 20
// training rows are not listed: counts that were selected for being large are smaller in new rows.
// Each column has a bin for missing values. Bins that are empty in both are ignored. (Siddiqi,
// Credit Risk Scorecards, 2006; thresholds: [ModerateShift], [LargeShift].)
//
// Without drift between n training rows and m rows, PSI is distributed as (1/n+1/m)·χ² with bins −
// 1 degrees of freedom (Yurdakul and Naranjo, Journal of Risk Model Validation 14, 2020). Its mean
// is ExpectedPSI. Drifted is set if PSI ≥ 0.1 without unknown categories is significant by this
// distribution and by Pearson's test of homogeneity; or if the fraction of missing or out-of-range
// values or of unknown categories
// grows significantly, by at least 1 % of the rows; or if a text column has 10 % more unknown words
// than usual. The expected fraction of unknown categories is that of the training rows whose
// category occurs once (Good, Biometrika 40, 1953). Bins of text are those of its length. The family-wise
// false alarm rate is about 1 %, and 4 % with 30 training rows.
//
// It makes one pass in constant memory and ignores weights and targets. Errors: those of the
// source; columns that do not match the profile; [datasets.ErrEmpty].
func Compare(ctx context.Context, reference Profile, source datasets.Source) (Drift, error) {
	_, cols := source.Dims()
	c, err := NewComparison(reference, source.Schema(), cols)
	if err != nil {
		return Drift{}, err
	}
	if err := source.Blocks(ctx, func(block datasets.Set) error { return c.Add(ctx, block) }); err != nil {
		return Drift{}, err
	}
	return c.Drift()
}

// Comparison is an incremental [Compare] over blocks of rows. It is not safe for concurrent use.
type Comparison struct {
	reference Profile
	cols      int
	rows      int
	inputs    []*histogram
}

// NewComparison returns an empty comparison for rows with the given schema and number of columns.
func NewComparison(reference Profile, schema datasets.Schema, cols int) (*Comparison, error) {
	reference.Targets = nil // targets are optional
	if err := reference.validate(schema, cols); err != nil {
		return nil, err
	}
	c := &Comparison{reference: reference, cols: cols}
	for j := range reference.Columns {
		c.inputs = append(c.inputs, newHistogram(&reference.Columns[j], schema.Column(j), reference.Rows))
	}
	return c, nil
}

// Add adds a block of rows.
func (c *Comparison) Add(ctx context.Context, block datasets.Set) error {
	if block.Cols() != c.cols {
		return fmt.Errorf("profile: columns must be %d, got %d", c.cols, block.Cols())
	}
	if block.Rows() == 0 {
		return nil
	}
	c.rows += block.Rows()
	return addRows(ctx, c.inputs, block.X)
}

// Drift returns the drift of the rows added so far.
func (c *Comparison) Drift() (Drift, error) {
	if c.rows == 0 {
		return Drift{}, fmt.Errorf("profile: %w", datasets.ErrEmpty)
	}
	out := Drift{Rows: c.rows, TrainingRows: c.reference.Rows, Inputs: make([]InputDrift, len(c.inputs)),
		Omitted: c.reference.Omitted}
	for j, b := range c.inputs {
		out.Inputs[j] = b.drift(c.rows, c.reference.Rows, len(c.inputs))
	}
	slices.SortStableFunc(out.Inputs, func(a, b InputDrift) int { return cmp.Compare(b.PSI, a.PSI) })
	return out, nil
}

// Drifted returns the inputs with significant drift.
func (d Drift) Drifted() []InputDrift {
	return slices.DeleteFunc(slices.Clone(d.Inputs), func(i InputDrift) bool { return !i.Drifted })
}

// Warnings describes inputs that make predictions unreliable: an input without values that had some
// in training, or one with unknown categories in more than 1 % of the rows.
func (d Drift) Warnings() (out []string) {
	for _, i := range d.Inputs {
		if i.Missing == 1 && i.MissingTraining < 1 {
			out = append(out, fmt.Sprintf("column %q is missing in all rows, but had values in %s of the training rows", i.Name,
				percent(1-i.MissingTraining)))
		}
		if i.Kind == "text" && i.Drifted && i.Unknown > i.ExpectedUnknown+0.1 {
			out = append(out, fmt.Sprintf("column %q: %s of the words are not in the training rows; %s are usual", i.Name,
				percent(i.Unknown), percent(i.ExpectedUnknown)))
		}
		if i.Kind != "text" && i.Unknown > i.ExpectedUnknown+minShare {
			out = append(out, fmt.Sprintf("column %q has unknown categories in %s of the rows", i.Name, percent(i.Unknown)))
		}
	}
	return out
}

// percent formats a fraction.
func percent(v float64) string {
	digits := 0
	if v < 0.1 || v > 0.99 && v < 1 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %%", digits, 100*v)
}

// histogram counts the values of an input in the bins of its profile.
type histogram struct {
	column   *Column
	format   datasets.Format
	numeric  bool
	expected []int // training rows by bin
	observed []int
	codes    []int // bin by category code
	// training rows with a category that the other rows do not have: their fraction is expected to be
	// that of unknown categories in new rows
	unknownTraining int

	textRows                int // rows with words
	unknown, unknownSquares float64
}

// Indices of the bins that all columns have.
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

// minListedRows is the number of training rows that a category of a column with other categories requires for its bin.
const minListedRows = 20

func newHistogram(c *Column, schema datasets.Column, rows int) *histogram {
	b := &histogram{column: c, format: schema.Format, numeric: schema.Kind != datasets.Categorical,
		expected: make([]int, binFirst)}
	count := func(share float64) int { return int(math.Round(share * float64(rows))) }
	b.expected[binMissing] = count(c.Missing)
	if b.numeric {
		if b.expected = append(b.expected, c.Counts...); len(c.Counts) == 0 {
			b.expected = append(b.expected, 0)
		}
	} else {
		values := float64(rows - b.expected[binMissing])
		b.expected[binOther] = int(math.Round(c.Other * values))
		bins := map[string]int{}
		for _, l := range c.Categories {
			n := int(math.Round(l.Fraction * values))
			if c.Other > 0 && n < minListedRows {
				b.expected[binOther] += n
				continue
			}
			bins[l.Name] = len(b.expected)
			b.expected = append(b.expected, n)
		}
		b.unknownTraining = min(count(c.Unknown)+c.OnceCategories, rows)
		known := float64(rows-b.unknownTraining) + 0.5 // not 0, if no category occurs twice
		b.expected[binUnknown] = int(math.Round(float64(b.unknownTraining) / known * float64(rows)))
		b.codes = make([]int, len(schema.Categories))
		for code, name := range schema.Categories {
			b.codes[code] = binOther
			if bin, ok := bins[name]; ok {
				b.codes[code] = bin
			}
		}
	}
	b.observed = make([]int, len(b.expected))
	return b
}

// bin returns the bin of a value.
func (b *histogram) bin(v float64) int {
	switch {
	case v-v != 0:
		return binMissing
	case !b.numeric && v >= 0 && v < float64(len(b.codes)):
		return b.codes[int(v)]
	case !b.numeric:
		return binUnknown
	case len(b.column.Counts) == 0:
		return binFirst
	case v < b.column.Min:
		return binBelow
	case v > b.column.Max:
		return binAbove
	}
	return binFirst + sort.SearchFloat64s(b.column.Cuts, v)
}

func (b *histogram) add(v float64)  { b.observed[b.bin(v)]++ }
func (b *histogram) addZeros(n int) { b.observed[b.bin(0)] += n }

// drift compares m rows with n training rows, with a Bonferroni correction over the inputs.
func (b *histogram) drift(m, n, inputs int) InputDrift {
	out := InputDrift{Name: b.column.Name, Kind: b.column.Kind, Missing: fraction(b.observed[binMissing], m),
		MissingTraining: b.column.Missing}
	outside := 0
	if b.numeric {
		outside = b.observed[binBelow] + b.observed[binAbove]
		out.OutOfRange = fraction(outside, m)
	} else {
		out.Unknown = fraction(b.observed[binUnknown], m)
		out.ExpectedUnknown = fraction(b.unknownTraining, n)
	}
	newWords := false
	if b.column.Words != nil {
		out.Unknown, newWords = b.wordDrift()
		out.ExpectedUnknown = b.column.Unknown
	}
	psi, bins := psi(b.expected, b.observed)
	noise := 1/float64(n) + 1/float64(m)
	free := float64(bins - 1)
	out.PSI, out.ExpectedPSI = psi, free*noise
	chance := 0.01 / 3 / float64(inputs) // significance level of each of three tests
	changed := b.shiftSignificant(m, n, chance)
	out.Drifted = changed || newWords || b.unknownSignificant(m, n, chance) ||
		missingSignificant(b.observed[binMissing], m, b.expected[binMissing], n,
			chance) ||
		len(b.column.Counts) > 0 && outOfRangeSignificant(outside, m-b.observed[binMissing], n-b.expected[binMissing],
			chance)
	return out
}

// shiftSignificant tests the bins of known categories. Other categories with one training row are
// excluded, for without drift as many rows of new data are unknown.
func (b *histogram) shiftSignificant(m, n int, chance float64) bool {
	expected, observed := b.expected, b.observed
	if !b.numeric {
		expected, observed = slices.Clone(expected), slices.Clone(observed)
		m -= observed[binUnknown]
		expected[binUnknown], observed[binUnknown] = 0, 0
		expected[binOther] -= min(expected[binOther], b.column.OnceCategories)
	}
	if m == 0 {
		return false
	}
	psi, bins := psi(expected, observed)
	return psi >= ModerateShift && min(psi/(1/float64(n)+1/float64(m)), chiSquared(expected, observed)) >
		distuv.ChiSquared{K: float64(max(bins-1, 1))}.Quantile(1-chance)
}

// psi returns the population stability index and the number of non-empty bins.
func psi(expected, observed []int) (psi float64, bins int) {
	n, m := 0, 0
	for i := range observed {
		if expected[i]+observed[i] > 0 {
			n, m, bins = n+expected[i], m+observed[i], bins+1
		}
	}
	half := float64(bins) / 2
	for i := range observed {
		if expected[i]+observed[i] > 0 {
			p := (float64(expected[i]) + 0.5) / (float64(n) + half)
			q := (float64(observed[i]) + 0.5) / (float64(m) + half)
			psi += (q - p) * math.Log(q/p)
		}
	}
	return psi, bins
}

// chiSquared returns Pearson's statistic of the hypothesis that both histograms have the same
// distribution. Together with PSI it has fewer false alarms: with sparse bins, PSI is inflated if
// training rows are few, Pearson's statistic if new rows are few.
func chiSquared(expected, observed []int) (x float64) {
	n, m := 0, 0
	for i := range observed {
		n, m = n+expected[i], m+observed[i]
	}
	ratio := math.Sqrt(float64(n) / float64(m))
	for i := range observed {
		if total := expected[i] + observed[i]; total > 0 {
			d := float64(expected[i])/ratio - float64(observed[i])*ratio
			x += d * d / float64(total)
		}
	}
	return x
}

// Minimum increase of a fraction, and minimum number of rows, for an alarm.
const (
	minShare = 0.01
	minRows  = 3
)

// missingSignificant tests whether k missing values in m rows exceed k0 in n rows, by Fisher's
// exact test.
func missingSignificant(k, m, k0, n int, chance float64) bool {
	if k < minRows || fraction(k, m)-fraction(k0, n) < minShare {
		return false
	}
	all := float64(k + k0)
	first := math.Exp(logBinomial(float64(m), float64(k)) + logBinomial(float64(n),
		float64(k0)) - logBinomial(float64(m+n), all))
	return tailProbability(first, k, min(m, k+k0), func(i float64) float64 {
		return (all - i) * (float64(m) - i) / ((i + 1) * (float64(n) - all + i + 1))
	}) < chance
}

// unknownSignificant tests whether the unknown categories in m rows exceed those of one row in n training
// rows. Without drift both fractions have the same expectation, and their difference has the variance
// M·(1/n + 1/m) + 2·n₂/n², with the fraction M and n₂ categories of two rows (Esty, Annals of
// Statistics 11, 1983): that of binomial counts, but for the overdispersion φ of categories with
// several rows, by which the counts of the exact test are divided.
func (b *histogram) unknownSignificant(m, n int, chance float64) bool {
	if b.numeric {
		return false
	}
	k, once, twice := b.observed[binUnknown], b.unknownTraining, b.column.TwiceCategories
	if k < minRows || fraction(k, m)-fraction(once, n) < minShare {
		return false
	}
	pooled := float64(k+once) / float64(m+n) * (1/float64(m) + 1/float64(n))
	scale := func(count int) float64 { return float64(count) / (1 + 2*float64(twice)/float64(n)/float64(n)/pooled) }
	return missingSignificant(int(scale(k)), int(scale(m)), int(math.Ceil(scale(once))), int(math.Ceil(scale(n))), chance)
}

// outOfRangeSignificant tests whether k of m values lie outside the range of n values. For any
// continuous distribution k is beta-binomial with parameters (2, n−1).
func outOfRangeSignificant(k, m, n int, chance float64) bool {
	if n < 2 || k < minRows || fraction(k, m)-2/float64(n+1) < minShare {
		return false
	}
	first := math.Exp(logBinomial(float64(m), float64(k)) + logBeta(float64(k+2), float64(m-k+n-1)) - logBeta(2,
		float64(n-1)))
	return tailProbability(first, k, m, func(i float64) float64 {
		return (float64(m) - i) * (i + 2) / ((i + 1) * (float64(m) - i + float64(n) - 2))
	}) < chance
}

// tailProbability sums p(k), …, p(last), given p(k) and the ratios p(i)/p(i−1).
func tailProbability(first float64, k, last int, ratio func(i float64) float64) float64 {
	sum, p := 0.0, first
	for i := k; i <= last && p > 1e-12*sum; i++ {
		sum += p
		p *= ratio(float64(i))
	}
	return sum
}

// logBinomial returns the logarithm of a binomial coefficient.
func logBinomial(n, k float64) float64 { return -logBeta(n-k+1, k+1) - math.Log(n+1) }

// logBeta returns the logarithm of the beta function.
func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
