package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/kern"
	"github.com/bochner-ml/bochner/internal/pairwise"
)

// clustering holds the metrics of numbers of clusters, which need not agree with the codes of the truth.
var clustering = []Metric{
	{
		Name: "adjusted_rand", Aliases: []string{"adjusted_rand_score"}, Task: datasets.Clustering, Needs: Predictions, GreaterIsBetter: true, Func: adjustedRand,
		Doc: "Share of pairs of rows that truth and clusters agree on, set to 0 for clusters by chance (Hubert & Arabie 1985). A weight counts rows: twice all weights are twice as many rows.",
	},
	{
		Name: "normalized_mutual_info", Aliases: []string{"nmi", "normalized_mutual_info_score"}, Task: datasets.Clustering, Needs: Predictions, GreaterIsBetter: true,
		Func: func(in Input) (float64, error) { _, _, v := in.contingency().information(); return v, nil },
		Doc:  "Mutual information of truth and clusters over the mean of their entropies.",
	},
	{
		Name: "homogeneity", Aliases: []string{"homogeneity_score"}, Task: datasets.Clustering, Needs: Predictions, GreaterIsBetter: true,
		Func: func(in Input) (float64, error) { h, _, _ := in.contingency().information(); return h, nil },
		Doc:  "1 where every cluster has rows of one class only: mutual information over the entropy of the classes.",
	},
	{
		Name: "completeness", Aliases: []string{"completeness_score"}, Task: datasets.Clustering, Needs: Predictions, GreaterIsBetter: true,
		Func: func(in Input) (float64, error) { _, c, _ := in.contingency().information(); return c, nil },
		Doc:  "1 where every class is in one cluster only: mutual information over the entropy of the clusters.",
	},
	{
		Name: "v_measure", Aliases: []string{"v_measure_score"}, Task: datasets.Clustering, Needs: Predictions, GreaterIsBetter: true,
		Func: func(in Input) (float64, error) { _, _, v := in.contingency().information(); return v, nil },
		Doc:  "Harmonic mean of homogeneity and completeness.",
	},
	{
		Name: "silhouette", Aliases: []string{"silhouette_score"}, Task: datasets.Clustering, Needs: PredictionsAndRows, GreaterIsBetter: true, Func: silhouette,
		Doc: "Mean of (b − a)/max(a, b), a being a row's mean distance to its cluster, b to the nearest other (Rousseeuw 1987); of more than 4096 rows a seeded sample of 4096. A weight counts rows.",
	},
	{
		Name: "calinski_harabasz", Aliases: []string{"calinski_harabasz_score"}, Task: datasets.Clustering, Needs: PredictionsAndRows, GreaterIsBetter: true, Func: calinskiHarabasz,
		Doc: "Variance between the clusters over that within them, each by its degrees of freedom. A weight counts rows.",
	},
	{
		Name: "davies_bouldin", Aliases: []string{"davies_bouldin_score"}, Task: datasets.Clustering, Needs: PredictionsAndRows, Func: daviesBouldin,
		Doc: "Mean over clusters of the worst (s_i + s_j)/d_ij, s being the mean distance to the centre, d that of two centres.",
	},
}

// contingency counts the rows of each class and cluster.
type contingency struct {
	cells             map[[2]int]float64
	classes, clusters map[int]float64
	total             float64
}

func (in Input) contingency() contingency {
	c := contingency{map[[2]int]float64{}, map[int]float64{}, map[int]float64{}, 0}
	for i := range in.rows() {
		class, cluster, w := int(in.Truth[i]), int(in.Predicted[i]), in.weight(i)
		c.cells[[2]int{class, cluster}] += w
		c.classes[class] += w
		c.clusters[cluster] += w
		c.total += w
	}
	return c
}

// sorted returns what a table counts, ascending, so that sums over it do not depend on the order of a map.
func sorted[K comparable](table map[K]float64) []float64 {
	list := make([]float64, 0, len(table))
	for _, v := range table {
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}

// information returns homogeneity, completeness and their harmonic mean.
func (c contingency) information() (homogeneity, completeness, v float64) {
	entropy := func(list []float64) float64 {
		var h sum
		for _, n := range list {
			h.add(-n / c.total * math.Log(n/c.total))
		}
		return h.value()
	}
	var terms []float64
	for at, n := range c.cells {
		terms = append(terms, n/c.total*math.Log(n*c.total/(c.classes[at[0]]*c.clusters[at[1]])))
	}
	slices.Sort(terms)
	var mutual sum
	for _, t := range terms {
		mutual.add(t)
	}
	ofClasses, ofClusters, m := entropy(sorted(c.classes)), entropy(sorted(c.clusters)), max(mutual.value(), 0)
	homogeneity, completeness = 1, 1
	if len(c.classes) > 1 {
		homogeneity = min(m/ofClasses, 1)
	}
	if len(c.clusters) > 1 {
		completeness = min(m/ofClusters, 1)
	}
	if homogeneity+completeness > 0 {
		v = 2 * homogeneity * completeness / (homogeneity + completeness)
	}
	return homogeneity, completeness, v
}

func adjustedRand(in Input) (float64, error) {
	c := in.contingency()
	pairs := func(list []float64) float64 {
		var s sum
		for _, n := range list {
			s.add(n * (n - 1) / 2)
		}
		return s.value()
	}
	together, a, b := pairs(sorted(c.cells)), pairs(sorted(c.classes)), pairs(sorted(c.clusters))
	if len(c.cells) == len(c.classes) && len(c.cells) == len(c.clusters) {
		return 1, nil // each class is a cluster
	}
	chance := a * b / (c.total * (c.total - 1) / 2)
	best := (a + b) / 2
	if best == chance {
		return 0, fmt.Errorf("%w: weights this small count no pair of rows", ErrUndefined)
	}
	return (together - chance) / (best - chance), nil
}

// groups are the rows of an input by clusters, which are numbered anew without gaps.
type groups struct {
	Input
	of    []int     // rows: their cluster
	mass  []float64 // clusters: of their rows
	total float64
}

// grouped returns the groups of at least two clusters that are not all single rows.
func (in Input) grouped() (groups, error) {
	g := groups{Input: in, of: make([]int, len(in.Predicted))}
	numbers := slices.Clone(in.Predicted)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	g.mass = make([]float64, len(numbers))
	for i, p := range in.Predicted {
		g.of[i], _ = slices.BinarySearch(numbers, p)
		g.mass[g.of[i]] += in.weight(i)
		g.total += in.weight(i)
	}
	switch {
	case len(numbers) < 2:
		return g, fmt.Errorf("%w: all rows are in one cluster", ErrUndefined)
	case g.total <= float64(len(numbers)):
		return g, fmt.Errorf("%w: there are no more rows than clusters", ErrUndefined)
	}
	return g, nil
}

// mostPairs is the number of rows of which all pairs are compared.
const mostPairs = 4096

// sampled returns the input, or a part of it of as many rows as can be compared with each other.
func (in Input) sampled() Input {
	n := len(in.Predicted)
	if n <= mostPairs {
		return in
	}
	list := rand.New(rand.NewPCG(uint64(n), mostPairs)).Perm(n)[:mostPairs]
	slices.Sort(list)
	return in.only(list)
}

func silhouette(in Input) (float64, error) {
	g, err := in.sampled().grouped()
	if err != nil {
		return 0, err
	}
	n, d := g.Rows.Dims()
	X := design.ToFloat64(design.Native(g.Rows))
	rows := pairwise.NewRows[float64](pairwise.FrameOf(slices.Repeat([]float64{1}, d), X), X)
	const tile = 128
	scores := make([]float64, n)
	kern.Parallel(n, tile, func(lo, hi int) {
		hold := design.Borrow[float64]((hi - lo) * n)
		defer hold.Release()
		distances := kern.Dense(hi-lo, n, n, hold.Data)
		pairwise.Distances(distances, rows.Slice(lo, hi), rows, pairwise.Squared)
		sums := make([]float64, len(g.mass))
		for i := lo; i < hi; i++ {
			clear(sums)
			for j, v := range distances.Row(i - lo) {
				sums[g.of[j]] += g.weight(j) * math.Sqrt(v)
			}
			scores[i] = g.silhouetteOf(g.of[i], sums)
		}
	})
	var total sum
	for i, s := range scores {
		total.add(g.weight(i) * s)
	}
	return total.value() / g.total, nil
}

// silhouetteOf is the silhouette of a row whose distances to the rows of each cluster add up to sums.
func (g groups) silhouetteOf(own int, sums []float64) float64 {
	if g.mass[own] <= 1 {
		return 0
	}
	a, b := sums[own]/(g.mass[own]-1), math.Inf(1)
	for c, s := range sums {
		if c != own {
			b = min(b, s/g.mass[c])
		}
	}
	if largest := max(a, b); largest > 0 {
		return (b - a) / largest
	}
	return 0
}

// centres returns the centre of each cluster, and the distance of each row to the centre of its own.
func (g groups) centres() (*mat.Dense, []float64) {
	n, d := g.Rows.Dims()
	X := design.Native(g.Rows)
	sums := make([]sum, len(g.mass)*d)
	buffer := make([]float64, d)
	for i := range n {
		to := sums[g.of[i]*d:]
		for j, v := range design.Row(X, i, buffer) {
			to[j].add(g.weight(i) * v)
		}
	}
	centres := mat.NewDense(len(g.mass), d, nil)
	for c, w := range g.mass {
		for j := range d {
			centres.Set(c, j, sums[c*d+j].value()/w)
		}
	}
	distances := make([]float64, n)
	for i := range n {
		distances[i] = distance(design.Row(X, i, buffer), centres.RawRowView(g.of[i]))
	}
	return centres, distances
}

// distance returns ‖x − y‖₂.
func distance(x, y []float64) float64 {
	s := 0.0
	for j, v := range x {
		s += (v - y[j]) * (v - y[j])
	}
	return math.Sqrt(s)
}

func calinskiHarabasz(in Input) (float64, error) {
	g, err := in.grouped()
	if err != nil {
		return 0, err
	}
	centres, distances := g.centres()
	k, d := centres.Dims()
	middle := make([]sum, d)
	for c, w := range g.mass {
		for j, v := range centres.RawRowView(c) {
			middle[j].add(w * v / g.total)
		}
	}
	mean := make([]float64, d)
	for j, m := range middle {
		mean[j] = m.value()
	}
	var between, within sum
	for c, w := range g.mass {
		r := distance(centres.RawRowView(c), mean)
		between.add(w * r * r)
	}
	for i, r := range distances {
		within.add(g.weight(i) * r * r)
	}
	if within.value() == 0 {
		return 1, nil
	}
	return between.value() / within.value() * (g.total - float64(k)) / float64(k-1), nil
}

func daviesBouldin(in Input) (float64, error) {
	g, err := in.grouped()
	if err != nil {
		return 0, err
	}
	centres, distances := g.centres()
	var size float64 // of the centers: what lies closer than its rounding is one point
	for _, v := range centres.RawMatrix().Data {
		size = max(size, math.Abs(v))
	}
	_, d := centres.Dims()
	rounding := size * math.Sqrt(float64(d)) * 0x1p-48
	spread := make([]sum, len(g.mass))
	for i, r := range distances {
		c := g.of[i]
		spread[c].add(g.weight(i) * r / g.mass[c])
	}
	var total sum
	for a := range spread {
		worst := 0.0
		for b := range spread {
			if r := distance(centres.RawRowView(a), centres.RawRowView(b)); a != b && r > rounding {
				worst = max(worst, (spread[a].value()+spread[b].value())/r)
			}
		}
		total.add(worst)
	}
	return total.value() / float64(len(spread)), nil
}
