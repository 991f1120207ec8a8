package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/features/pairwise"
	"github.com/bochner-ml/bochner/internal/kern"
)

// clusteringMetrics are the metrics of cluster labels, which need not match the codes of the true
// classes.
var clusteringMetrics = []Metric{
	{
		Name: "adjusted_rand", Aliases: []string{"adjusted_rand_score"}, Task: datasets.Clustering,
		Requires:        RequiresPredictions,
		GreaterIsBetter: true, Func: adjustedRand,
		Doc: "Rand index of true and predicted clusters, adjusted for chance (Hubert & Arabie 1985). Weights count " +
			"rows: doubling all weights doubles the number of rows.",
	},
	{
		Name: "normalized_mutual_info", Aliases: []string{"nmi", "normalized_mutual_info_score"},
		Task: datasets.Clustering, Requires: RequiresPredictions, GreaterIsBetter: true,
		Func: func(in Input) (float64, error) { _, _, v := in.contingency().information(); return v, nil },
		Doc:  "Mutual information of true and predicted clusters over the mean of their entropies.",
	},
	{
		Name: "homogeneity", Aliases: []string{"homogeneity_score"}, Task: datasets.Clustering, Requires: RequiresPredictions,
		GreaterIsBetter: true,
		Func:            func(in Input) (float64, error) { h, _, _ := in.contingency().information(); return h, nil },
		Doc: "Mutual information over the entropy of the classes; 1 if every cluster contains rows of one " +
			"class only.",
	},
	{
		Name: "completeness", Aliases: []string{"completeness_score"}, Task: datasets.Clustering,
		Requires:        RequiresPredictions,
		GreaterIsBetter: true,
		Func:            func(in Input) (float64, error) { _, c, _ := in.contingency().information(); return c, nil },
		Doc:             "Mutual information over the entropy of the clusters; 1 if every class lies in one cluster.",
	},
	{
		Name: "v_measure", Aliases: []string{"v_measure_score"}, Task: datasets.Clustering, Requires: RequiresPredictions,
		GreaterIsBetter: true,
		Func:            func(in Input) (float64, error) { _, _, v := in.contingency().information(); return v, nil },
		Doc:             "Harmonic mean of homogeneity and completeness.",
	},
	{
		Name: "silhouette", Aliases: []string{"silhouette_score"}, Task: datasets.Clustering,
		Requires: predictionsAndRows, GreaterIsBetter: true, Func: silhouette,
		Doc: "Mean of (b − a)/max(a, b), a being a row's mean distance to its cluster, b to the nearest other cluster " +
			"(Rousseeuw 1987), on a seeded sample of at most 4096 rows. Weights count rows.",
	},
	{
		Name: "calinski_harabasz", Aliases: []string{"calinski_harabasz_score"}, Task: datasets.Clustering,
		Requires: predictionsAndRows, GreaterIsBetter: true, Func: calinskiHarabasz,
		Doc: "Between-cluster over within-cluster variance, each divided by its degrees of freedom. Weights count rows.",
	},
	{
		Name: "davies_bouldin", Aliases: []string{"davies_bouldin_score"}, Task: datasets.Clustering,
		Requires: predictionsAndRows, Func: daviesBouldin,
		Doc: "Mean over clusters of the largest (s_i + s_j)/d_ij, s being the mean distance to the center, d the " +
			"distance of two centers.",
	},
}

// contingency contains the weighted number of rows per class, per cluster, and per pair of both.
type contingency struct {
	cells             map[[2]int]float64
	classes, clusters map[int]float64
	total             float64
}

func (in Input) contingency() contingency {
	c := contingency{map[[2]int]float64{}, map[int]float64{}, map[int]float64{}, 0}
	for i := range in.rows() {
		class, cluster, w := int(in.YTrue[i]), int(in.YPred[i]), in.weight(i)
		c.cells[[2]int{class, cluster}] += w
		c.classes[class] += w
		c.clusters[cluster] += w
		c.total += w
	}
	return c
}

// sortedCounts returns the counts in ascending order, so that sums do not depend on map order.
func sortedCounts[K comparable](table map[K]float64) []float64 {
	list := make([]float64, 0, len(table))
	for _, v := range table {
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}

// information returns homogeneity, completeness and V-measure.
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
	ofClasses, ofClusters, m := entropy(sortedCounts(c.classes)), entropy(sortedCounts(c.clusters)), max(mutual.value(), 0)
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
	samePair, a, b := pairs(sortedCounts(c.cells)), pairs(sortedCounts(c.classes)), pairs(sortedCounts(c.clusters))
	if len(c.cells) == len(c.classes) && len(c.cells) == len(c.clusters) {
		return 1, nil // classes and clusters are the same partition
	}
	chance := a * b / (c.total * (c.total - 1) / 2)
	best := (a + b) / 2
	if best == chance {
		return 0, fmt.Errorf("%w: the weights are too small", ErrUndefined)
	}
	return (samePair - chance) / (best - chance), nil
}

// clusterGroups assigns rows to clusters, renumbered 0 to k−1.
type clusterGroups struct {
	Input
	cluster []int     // by row
	weights []float64 // by cluster
	total   float64
}

// groupByCluster renumbers the clusters. It returns [ErrUndefined] for fewer than two clusters, or
// if every row is its own cluster.
func (in Input) groupByCluster() (clusterGroups, error) {
	g := clusterGroups{Input: in, cluster: make([]int, len(in.YPred))}
	numbers := slices.Clone(in.YPred)
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	g.weights = make([]float64, len(numbers))
	for i, p := range in.YPred {
		g.cluster[i], _ = slices.BinarySearch(numbers, p)
		g.weights[g.cluster[i]] += in.weight(i)
		g.total += in.weight(i)
	}
	switch {
	case len(numbers) < 2:
		return g, fmt.Errorf("%w: there must be at least 2 clusters, got 1", ErrUndefined)
	case g.total <= float64(len(numbers)):
		return g, fmt.Errorf("%w: there must be more rows than clusters", ErrUndefined)
	}
	return g, nil
}

// maxPairwiseRows is the maximum number of rows whose pairwise distances are computed.
const maxPairwiseRows = 4096

// subsample returns in, or a seeded sample of maxPairwiseRows of its rows.
func (in Input) subsample() Input {
	n := len(in.YPred)
	if n <= maxPairwiseRows {
		return in
	}
	list := rand.New(rand.NewPCG(uint64(n), maxPairwiseRows)).Perm(n)[:maxPairwiseRows]
	slices.Sort(list)
	return in.selectRows(list)
}

func silhouette(in Input) (float64, error) {
	g, err := in.subsample().groupByCluster()
	if err != nil {
		return 0, err
	}
	n, d := g.Rows.Dims()
	X := design.ToFloat64(design.Native(g.Rows))
	rows := pairwise.NewRows[float64](new(pairwise.Kernel).Frame(slices.Repeat([]float64{1}, d), X), X)
	const tile = 128
	scores := make([]float64, n)
	kern.Parallel(n, tile, func(lo, hi int) {
		hold := design.Borrow[float64]((hi - lo) * n)
		defer hold.Release()
		distances := kern.Dense(hi-lo, n, n, hold.Data)
		pairwise.Distances(distances, rows.Slice(lo, hi), rows, pairwise.Squared)
		sums := make([]float64, len(g.weights))
		for i := lo; i < hi; i++ {
			clear(sums)
			for j, v := range distances.Row(i - lo) {
				sums[g.cluster[j]] += g.weight(j) * math.Sqrt(v)
			}
			scores[i] = g.rowSilhouette(g.cluster[i], sums)
		}
	})
	var total sum
	for i, s := range scores {
		total.add(g.weight(i) * s)
	}
	return total.value() / g.total, nil
}

// rowSilhouette returns the silhouette of a row, given its weighted sum of distances to each
// cluster.
func (g clusterGroups) rowSilhouette(own int, sums []float64) float64 {
	if g.weights[own] <= 1 {
		return 0
	}
	a, b := sums[own]/(g.weights[own]-1), math.Inf(1)
	for c, s := range sums {
		if c != own {
			b = min(b, s/g.weights[c])
		}
	}
	if largest := max(a, b); largest > 0 {
		return (b - a) / largest
	}
	return 0
}

// centers returns the center of each cluster and the distance of each row to its center.
func (g clusterGroups) centers() (*mat.Dense, []float64) {
	n, d := g.Rows.Dims()
	X := design.Native(g.Rows)
	sums := make([]sum, len(g.weights)*d)
	buffer := make([]float64, d)
	for i := range n {
		to := sums[g.cluster[i]*d:]
		for j, v := range design.Row(X, i, buffer) {
			to[j].add(g.weight(i) * v)
		}
	}
	centers := mat.NewDense(len(g.weights), d, nil)
	for c, w := range g.weights {
		for j := range d {
			centers.Set(c, j, sums[c*d+j].value()/w)
		}
	}
	distances := make([]float64, n)
	for i := range n {
		distances[i] = euclidean(design.Row(X, i, buffer), centers.RawRowView(g.cluster[i]))
	}
	return centers, distances
}

// euclidean returns ‖x − y‖₂.
func euclidean(x, y []float64) float64 {
	s := 0.0
	for j, v := range x {
		s += (v - y[j]) * (v - y[j])
	}
	return math.Sqrt(s)
}

func calinskiHarabasz(in Input) (float64, error) {
	g, err := in.groupByCluster()
	if err != nil {
		return 0, err
	}
	centers, distances := g.centers()
	k, d := centers.Dims()
	middle := make([]sum, d)
	for c, w := range g.weights {
		for j, v := range centers.RawRowView(c) {
			middle[j].add(w * v / g.total)
		}
	}
	mean := make([]float64, d)
	for j, m := range middle {
		mean[j] = m.value()
	}
	var between, within sum
	for c, w := range g.weights {
		r := euclidean(centers.RawRowView(c), mean)
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
	g, err := in.groupByCluster()
	if err != nil {
		return 0, err
	}
	centers, distances := g.centers()
	var size float64 // scale of the centers: closer centers than its rounding error coincide
	for _, v := range centers.RawMatrix().Data {
		size = max(size, math.Abs(v))
	}
	_, d := centers.Dims()
	rounding := size * math.Sqrt(float64(d)) * 0x1p-48
	spread := make([]sum, len(g.weights))
	for i, r := range distances {
		c := g.cluster[i]
		spread[c].add(g.weight(i) * r / g.weights[c])
	}
	var total sum
	for a := range spread {
		worst := 0.0
		for b := range spread {
			if r := euclidean(centers.RawRowView(a), centers.RawRowView(b)); a != b && r > rounding {
				worst = max(worst, (spread[a].value()+spread[b].value())/r)
			}
		}
		total.add(worst)
	}
	return total.value() / float64(len(spread)), nil
}
