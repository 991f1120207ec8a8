package main

import (
	"cmp"
	"math"
	"slices"
)

// behindBy is the factor of the best loss from which a method counts as behind.
const behindBy = 1.05

// cell is the result of a method on all splits of a set.
type cell struct {
	splits  int // number of splits with results, including failed ones
	mean    float64
	spread  float64 // standard deviation over the splits
	rmse    float64
	fit     float64 // seconds, median; as the next two
	predict float64 // seconds for the test rows
	bytes   float64 // size of the model
	failed  string  // why one of the splits has no score
	rank    float64 // among the methods of the page: 1 for the least mean; the mean of the places of equals
}

// row is a set with a cell for each method of the summary.
type row struct {
	set                 string
	task, score         string
	train, test, inputs int
	cells               []cell
	whole               bool // whether all methods have results of the same splits
}

// standing is the result of a method on all complete sets.
type standing struct {
	method   string
	versions []string
	rank     float64 // mean
	wins     float64 // share of the pairs of a set and another method in which it is better; a tie is a half
	error    float64 // mean normalized error
	first    int     // sets on which no method is better
	behind   int     // sets on which its loss is more than behindBy that of the best
	failed   int     // sets
}

type summary struct {
	rows      []row
	standings []standing // in the order of cells
	whole     int        // sets
}

// summarize arranges results by set and method, ours first; it omits methods without results.
func summarize(results []result) summary {
	var s summary
	for _, name := range append([]string{oursName}, peerNames()...) {
		var versions []string
		for _, r := range results {
			if r.Method == name && !slices.Contains(versions, r.Version) {
				versions = append(versions, r.Version)
			}
		}
		if versions != nil {
			s.standings = append(s.standings, standing{method: name, versions: versions})
		}
	}
	for _, name := range setNames() {
		if row, known := s.row(name, results); known {
			s.rows = append(s.rows, row)
		}
	}
	s.stand()
	return s
}

// row gathers the results of a set.
func (s summary) row(name string, results []result) (row, bool) {
	out := row{set: name, whole: true}
	of := make([][]result, len(s.standings))
	for _, r := range results {
		k := slices.IndexFunc(s.standings, func(one standing) bool { return one.method == r.Method })
		if r.Set != name || k < 0 {
			continue
		}
		of[k] = append(of[k], r)
		out.task, out.score, out.train, out.test, out.inputs = r.Task, r.Score, r.Train, r.Test, r.Inputs
	}
	if out.task == "" {
		return out, false
	}
	for k := range of {
		slices.SortFunc(of[k], func(a, b result) int { return cmp.Compare(a.Split, b.Split) })
		same := slices.EqualFunc(of[k], of[0], func(a, b result) bool { return a.Split == b.Split })
		out.whole = out.whole && same && len(of[k]) > 0
		out.cells = append(out.cells, gather(of[k]))
	}
	out.ranks()
	return out, true
}

func gather(results []result) cell {
	c := cell{splits: len(results)}
	var losses, rmses, fits, predicts, bytes []float64
	for _, r := range results {
		if r.Failed != "" {
			c.failed = r.Failed
			continue
		}
		losses, rmses = append(losses, r.Loss), append(rmses, r.RMSE)
		fits, predicts, bytes = append(fits, r.Fit), append(predicts, r.Predict), append(bytes, float64(r.Bytes))
	}
	if len(losses) == 0 {
		return c
	}
	c.mean, c.spread = spread(losses)
	c.rmse, _ = spread(rmses)
	c.fit, c.predict, c.bytes = median(fits), median(predicts), median(bytes)
	return c
}

// median sorts values and returns their median.
func median(values []float64) float64 {
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// spread returns the mean and the standard deviation of values, 0 for a single one.
func spread(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if n < 2 {
		return mean, 0
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / (n - 1)
	}
	return mean, math.Sqrt(deviation)
}

// loss returns the loss for ranking; a method that has failed on a split is last.
func (c cell) loss() float64 {
	if c.failed != "" {
		return math.Inf(1)
	}
	return c.mean
}

func (r *row) ranks() {
	for i := range r.cells {
		less, equal := 0, 0
		for _, other := range r.cells {
			switch a := r.cells[i].loss(); {
			case other.splits == 0:
			case other.loss() < a:
				less++
			case other.loss() == a:
				equal++
			}
		}
		r.cells[i].rank = float64(less) + float64(equal+1)/2
	}
}

// best returns the smallest loss of the cells and its index; −1 if there is none.
func best(cells []cell) (loss float64, at int) {
	loss, at = math.Inf(1), -1
	for k, c := range cells {
		if c.splits > 0 && c.loss() < loss {
			loss, at = c.loss(), k
		}
	}
	return loss, at
}

// behind reports whether a loss is significantly behind the best one.
func behind(loss, best float64) bool { return loss > behindBy*best }

// stand counts the complete sets of each method.
func (s *summary) stand() {
	for _, r := range s.rows {
		if !r.whole {
			continue
		}
		s.whole++
		least, _ := best(r.cells)
		var losses []float64
		for _, c := range r.cells {
			losses = append(losses, c.loss())
		}
		middle := median(losses)
		for k, c := range r.cells {
			one := &s.standings[k]
			one.rank += c.rank
			one.wins += (float64(len(r.cells)) - c.rank) / float64(max(len(r.cells)-1, 1))
			if loss := c.loss(); loss >= middle && loss > least {
				one.error++
			} else if loss > least {
				one.error += (loss - least) / (middle - least)
			}
			switch {
			case c.failed != "":
				one.failed++
				one.behind++
			case c.mean == least:
				one.first++
			case behind(c.mean, least):
				one.behind++
			}
		}
	}
	for k := range s.standings {
		one, sets := &s.standings[k], float64(max(s.whole, 1))
		one.rank, one.wins, one.error = one.rank/sets, one.wins/sets, one.error/sets
	}
}
