// Command portfolio learns the order in which package auto tries its recipes from earlier runs.
//
//	bochner auto TABLE --out runs/NAME           for each table of a corpus
//	go run ./bench/portfolio runs/*              reports what the order is worth
//	go run ./bench/portfolio -write auto/portfolio.txt runs/*
//
// It reads the scores of the first round of each run. The regret of some recipes on a table is the
// distance of their best score from the best score of all recipes, as a fraction of its distance from the median
// recipe. The order is greedy: the next recipe is the one that decreases the mean regret over the tables most in
// relation to its time. The report applies an order learned without a table to that table, next to the current order of
// package auto, which may have been learned from the same tables. Leave out tables with text: their order is fixed.
package main

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/metrics"
)

// table contains the recipes of a run with their regrets and seconds.
type table struct {
	name            string
	regret, seconds map[string]float64
}

func main() {
	write := flag.String("write", "", "file for the order")
	flag.Parse()
	if err := run(*write, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "portfolio:", err)
		os.Exit(1)
	}
}

func run(write string, folders []string) error {
	var tables []table
	for _, f := range folders {
		t, err := read(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		tables = append(tables, t)
	}
	if len(tables) < 2 {
		return fmt.Errorf("needs the directories of at least two runs, got %d", len(tables))
	}
	report(tables)
	if write == "" {
		return nil
	}
	return os.WriteFile(write, []byte(strings.Join(order(tables), "\n")+"\n"), 0o644)
}

// read reads the first round of a run.
func read(folder string) (table, error) {
	t := table{filepath.Base(folder), map[string]float64{}, map[string]float64{}}
	var result struct {
		Auto struct {
			Score  string
			Rounds []struct{ Rows int }
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "result.json"))
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err == nil && len(result.Auto.Rounds) == 0 {
		err = fmt.Errorf("the search has no complete round")
	}
	if err != nil {
		return t, err
	}
	metric, err := metrics.ByName(result.Auto.Score)
	if err != nil {
		return t, err
	}
	f, err := os.Open(filepath.Join(folder, "leaderboard.csv"))
	if err != nil {
		return t, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return t, err
	}
	at := map[string]int{}
	for j, name := range rows[0] {
		at[name] = j
	}
	known := auto.Recipes()
	number := func(r []string, name string) float64 {
		v, err := strconv.ParseFloat(r[at[name]], 64)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	for _, r := range rows[1:] {
		if !slices.Contains(known, r[at["recipe"]]) || math.IsNaN(number(r, "score")) ||
			int(number(r, "rows")) != result.Auto.Rounds[0].Rows {
			continue
		}
		recipe, loss := r[at["recipe"]], number(r, "score")
		if metric.GreaterIsBetter {
			loss = -loss
		}
		if before, ok := t.regret[recipe]; !ok || loss < before {
			t.regret[recipe] = loss
		}
		t.seconds[recipe] += number(r, "seconds")
	}
	if len(t.regret) == 0 {
		return t, fmt.Errorf("no recipe has a score")
	}
	losses := slices.Sorted(maps.Values(t.regret))
	best, spread := losses[0], losses[len(losses)/2]-losses[0]
	for name, loss := range t.regret {
		t.regret[name] = min((loss-best)/math.Max(spread, 1e-12), 1)
	}
	return t, nil
}

// order returns the recipes in the order in which they decrease the mean regret most for their time.
func order(tables []table) (out []string) {
	left := map[string]bool{}
	for _, t := range tables {
		for name := range t.regret {
			left[name] = true
		}
	}
	regret := slices.Repeat([]float64{1}, len(tables))
	for len(left) > 0 {
		var best string
		most := 0.0
		for _, name := range slices.Sorted(maps.Keys(left)) {
			gain, took := 0.0, 0.0
			for i, t := range tables {
				if r, ok := t.regret[name]; ok {
					gain += max(regret[i]-r, 0)
					took += t.seconds[name]
				}
			}
			const least = 0.05 // seconds of a table: less has no influence
			if worth := gain / max(took, least*float64(len(tables))); worth > most {
				best, most = name, worth
			}
		}
		if best == "" { // the others are better nowhere: a second choice for each table
			if gained := slices.Min(regret) < 1; !gained {
				break
			}
			regret = slices.Repeat([]float64{1}, len(tables))
			continue
		}
		out = append(out, best)
		delete(left, best)
		for i, t := range tables {
			if r, ok := t.regret[best]; ok {
				regret[i] = min(regret[i], r)
			}
		}
	}
	return out
}

// report prints the mean regret after the first recipes, by an order that was learned without the table, and by the
// order of package auto.
func report(tables []table) {
	usual := auto.Recipes()
	fmt.Println("seconds  learned  current")
	for _, seconds := range []float64{0.25, 0.5, 1, 2, 4, 8} {
		var learned, given float64
		for i, t := range tables {
			others := order(slices.Delete(slices.Clone(tables), i, i+1))
			learned += t.after(seconds, append(others, usual...)) / float64(len(tables))
			given += t.after(seconds, usual) / float64(len(tables))
		}
		fmt.Printf("%7v  %7.3f  %7.3f\n", seconds, learned, given)
	}
}

// after returns the least regret of the first recipes of an order that take the given time.
func (t table) after(seconds float64, order []string) float64 {
	best := 1.0
	done := map[string]bool{}
	for _, name := range order {
		r, ok := t.regret[name]
		if !ok || done[name] {
			continue
		}
		if seconds -= t.seconds[name]; seconds < 0 && len(done) > 0 {
			break
		}
		done[name] = true
		best = min(best, r)
	}
	return best
}
