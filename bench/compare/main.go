// Command compare runs the benchmarks of folder bench and scikit-learn's side of them on one
// machine, and writes the table of docs/performance.md:
//
//	go run ./bench/compare                         everything, about a quarter of an hour
//	go run ./bench/compare -only transform,ridge   these rows; the page keeps the others
//	go run ./bench/compare -quick                  small sizes, to see that it works; printed only
//
// Each measurement is a process of its own, so that its peak memory is its own. The sides take turns,
// -repeat times, with the same number of threads; the best time of each counts, and the largest
// memory. A work that takes the peer more than a minute is done once.
//
// The peer's side is a Python script that prints JSON lines, see -peer. It needs python3 with
// scikit-learn, and pandas for the row of CSV files.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
)

type options struct {
	only    []string
	repeat  int
	threads int
	quick   bool
	peer    string
	page    string
	python  string
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
	chosen, err := choose(works(o.quick), o.only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	m, err := newRunner(ctx, o)
	if err != nil {
		return err
	}
	defer m.close()
	machine, err := describe(ctx, o)
	if err != nil {
		return err
	}
	results, err := m.measure(ctx, chosen)
	if err != nil {
		return err
	}
	rows := make([]row, len(chosen))
	for i, w := range chosen {
		rows[i] = w.row(results[i])
	}
	if o.quick {
		fmt.Print(machine, "\n\n", table(rows))
		return nil
	}
	return writePage(o.page, machine, rows)
}

func parse() (options, error) {
	var o options
	only := flag.String("only", "", "comma-separated rows to measure: "+strings.Join(names(works(false)), ", "))
	flag.IntVar(&o.repeat, "repeat", 3, "times that the sides take turns")
	flag.IntVar(&o.threads, "threads", runtime.NumCPU(), "threads of either side")
	flag.BoolVar(&o.quick, "quick", false, "small sizes, and nothing is written")
	flag.StringVar(&o.peer, "peer", "../shared/bench/peer_sklearn.py", "script of the peer's side; none for Bochner alone")
	flag.StringVar(&o.python, "python", "python3", "the Python that has scikit-learn")
	flag.StringVar(&o.page, "page", "docs/performance.md", "page to write the table into")
	flag.Parse()
	if flag.NArg() > 0 || o.repeat < 1 || o.threads < 1 {
		return o, fmt.Errorf("-repeat and -threads are at least 1 and there are no arguments, got %q", os.Args[1:])
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, nil
}

// choose returns the works called by name, or all.
func choose(all []work, only []string) ([]work, error) {
	if len(only) == 0 {
		return all, nil
	}
	var out []work
	for _, w := range all {
		if slices.Contains(only, w.name) {
			out = append(out, w)
		}
	}
	for _, name := range only {
		if !slices.Contains(names(all), name) {
			return nil, fmt.Errorf("-only: no row is called %q; there are %s", name, strings.Join(names(all), ", "))
		}
	}
	return out, nil
}

func names(all []work) []string {
	var out []string
	for _, w := range all {
		out = append(out, w.name)
	}
	return out
}
