// Command compare runs the benchmarks of directory bench and their scikit-learn counterparts on one
// host, and writes the table of docs/performance.md:
//
//	go run ./bench/compare                         everything, ten to fifteen minutes
//	go run ./bench/compare -only transform,ridge   these rows; the others on the page are kept
//	go run ./bench/compare -quick                  small sizes, as a smoke test; printed only
//	go run ./bench/compare -quick -against main~3  this code compared with a commit, without the baseline; printed only
//
// Each measurement runs in a separate process, so that peak memory is measured per benchmark. The
// programs run interleaved, -repeat times, with the same number of threads; the table has the
// minimum time and the maximum memory of each. Benchmarks that take the baseline more than a
// minute, and fits from a file, run once.
//
// With -against, two commits run interleaved in alternating order. The row of a benchmark has the
// medians, their ratio, and a nonparametric confidence interval of the median ratio; six
// repetitions give a confidence level of 97 %.
//
// The baseline is a Python script that prints JSON lines, see -peer. It needs python3 with
// scikit-learn, and pandas for the CSV row.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/bench/internal/page"
)

type options struct {
	only    []string
	repeat  int
	threads int
	quick   bool
	peer    string
	page    string
	python  string
	against string // commit to compare the working tree with, instead of the baseline
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run() error {
	o, err := parse()
	if err != nil {
		return err
	}
	chosen, kernels, err := choose(works(o.quick), o.only)
	if err != nil {
		return err
	}
	if o.against != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		return pairs(ctx, o, chosen)
	}
	if !o.quick {
		if err := page.Check(places(o.page)); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := newRunner(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	machine, err := describe(ctx, o)
	if err != nil {
		return err
	}
	var failed error
	if len(chosen) > 0 {
		failed = r.compare(ctx, machine, chosen)
	}
	if !kernels || ctx.Err() != nil {
		return failed
	}
	table, err := r.kernels(ctx)
	if err != nil {
		return errors.Join(failed, err)
	}
	fmt.Print(machine, "\n\n", table, "\n")
	if o.quick {
		return failed
	}
	_, _, place := places(o.page)
	return errors.Join(failed, place.Write(dated(machine, table)))
}

// compare runs the benchmarks and writes their table after each round.
func (r *runner) compare(ctx context.Context, machine string, works []work) error {
	rows := make([]row, len(works))
	failed := r.measure(ctx, works, func(results []result) error {
		for i, w := range works {
			rows[i] = w.row(results[i])
		}
		if r.quick {
			return nil
		}
		summary, table, _ := places(r.page)
		return writeTable(summary, table, machine, rows)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Print(machine, "\n\n", table(rows), "\n")
	if r.quick {
		fmt.Print("These are small sizes; the targets are about the full ones.\n\n")
	}
	return failed
}

func parse() (options, error) {
	var o options
	only := flag.String("only", "", "comma-separated rows to measure: "+
		strings.Join(append(names(works(false)), kernelsName), ", "))
	flag.IntVar(&o.repeat, "repeat", 0,
		"number of interleaved runs; by default 2 with the baseline, 6 with -against")
	flag.StringVar(&o.against, "against", "", "commit to compare the working tree with, in place of the peer")
	flag.IntVar(&o.threads, "threads", runtime.NumCPU(), "threads of either side")
	flag.BoolVar(&o.quick, "quick", false, "small sizes, and nothing is written")
	flag.StringVar(&o.peer, "peer", "../shared/bench/peer_sklearn.py", "script of the peer's side; none for Bochner alone")
	flag.StringVar(&o.python, "python", "python3", "the Python that has scikit-learn")
	flag.StringVar(&o.page, "page", "docs/performance.md", "page to write the summary of bench/results/compare.md into")
	flag.Parse()
	if o.repeat == 0 {
		if o.repeat = 2; o.against != "" {
			o.repeat = 6
		}
	}
	if flag.NArg() > 0 || o.repeat < 1 || o.threads < 1 {
		return o, fmt.Errorf("-repeat and -threads are at least 1 and there are no arguments, got %q", os.Args[1:])
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, nil
}

// choose returns the named benchmarks, or all, and whether the kernels are included.
func choose(all []work, only []string) (chosen []work, kernels bool, err error) {
	if len(only) == 0 {
		return all, true, nil
	}
	known := append(names(all), kernelsName)
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, false, fmt.Errorf("-only: no row is called %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	for _, w := range all {
		if slices.Contains(only, w.name) {
			chosen = append(chosen, w)
		}
	}
	return chosen, slices.Contains(only, kernelsName), nil
}

func names(all []work) []string {
	var out []string
	for _, w := range all {
		out = append(out, w.name)
	}
	return out
}
