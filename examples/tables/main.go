// Command tables compares "bochner auto" with popular models and AutoML tools on tabular data sets
// of many kinds, and writes docs/benchmarks.md and bench/results/tables.md:
//
//	go run ./examples/tables -data FOLDER                     everything: hours
//	go run ./examples/tables -data FOLDER -sets yacht,pima    these sets
//	go run ./examples/tables -page                            only the page, from existing results
//
// FOLDER contains the files listed in sets.go, optionally gzip-compressed. The baselines run in
// Python, see peers.py and requirements.txt; those not installed are omitted:
//
//	python3 -m venv VENV && VENV/bin/pip install -r examples/tables/requirements.txt
//	go run ./examples/tables -data FOLDER -python VENV/bin/python
//
// Every method gets the same rows as CSV files, in a separate process, run sequentially, and its
// predictions are scored here. Finished results are written to a file, so the same command resumes
// after an interruption. -again NAMES measures these methods again. The page has all sets with
// results in the file, and the baselines that -peers names; a CSV file has them with the columns of TabArena.
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
	"time"
)

type options struct {
	data    string
	sets    []string // nil for all
	peers   []string // nil for none
	again   []string
	minutes float64
	seeds   int
	threads int
	limit   time.Duration
	bochner string
	python  string
	results string
	table   string
	out     string
	details string
	picture string
	page    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	o, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	under := conditions{Machine: processor(), Threads: o.threads, Minutes: o.minutes}
	l, err := openLog(o.results, under)
	if err != nil {
		return err
	}
	defer l.close()
	if !o.page {
		if err := measureAll(ctx, o, l); err != nil {
			return err
		}
	}
	results := ofMethods(l.results(), o.peers)
	if len(results) == 0 {
		return fmt.Errorf("%s has no results of these methods under these conditions: %s", o.results, under)
	}
	if err := writeTable(o.table, results); err != nil {
		return err
	}
	tables, details := page(under, results)
	if err := os.WriteFile(o.details, []byte(details), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(o.picture, []byte(chart(results)), 0o644); err != nil {
		return err
	}
	return writePage(o.out, tables)
}

// ofMethods returns the results of ours and of these peers.
func ofMethods(all []result, peers []string) []result {
	var out []result
	for _, r := range all {
		if r.Method == oursName || slices.Contains(peers, r.Method) {
			out = append(out, r)
		}
	}
	return out
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("tables", flag.ContinueOnError)
	f.StringVar(&o.data, "data", "", "folder of the data files")
	sets := f.String("sets", "all", "comma-separated: "+strings.Join(setNames(), ", "))
	peers := f.String("peers", "all", "comma-separated, or none: "+strings.Join(peerNames(), ", "))
	again := f.String("again", "", "methods to measure again")
	f.Float64Var(&o.minutes, "minutes", 1, "time for each search: ours and LightGBM's")
	f.IntVar(&o.seeds, "seeds", 5, "splits of sets of fewer than 2,000 rows; others have one")
	f.IntVar(&o.threads, "threads", runtime.NumCPU(), "threads of every method")
	f.DurationVar(&o.limit, "limit", time.Hour, "a method that takes longer has failed")
	f.StringVar(&o.bochner, "bochner", "", "the command to measure; made of this tree when left out")
	f.StringVar(&o.python, "python", "python3", "the Python that has the peers")
	f.StringVar(&o.results, "results", "bench/results/tables.jsonl", "file of the results")
	f.StringVar(&o.table, "table", "bench/results/tables.csv", "the results as CSV with the columns of TabArena")
	f.StringVar(&o.out, "out", "docs/benchmarks.md", "page to write")
	f.StringVar(&o.details, "details", "bench/results/tables.md", "page of every set to write")
	f.StringVar(&o.picture, "picture", "docs/benchmarks.svg", "picture of the mean ranks to write")
	f.BoolVar(&o.page, "page", false, "measure nothing, make the page of the results that there are")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.sets, o.peers, o.again = names(*sets, setNames()), names(*peers, peerNames()), names(*again, nil)
	return o, errors.Join(o.errs(f.NArg())...)
}

// names reads a list of names, "all" or "none".
func names(text string, all []string) []string {
	switch text {
	case "all":
		return all
	case "none", "":
		return nil
	}
	return strings.Split(text, ",")
}

func (o options) errs(args int) []error {
	var errs []error
	wrong := func(format string, values ...any) { errs = append(errs, fmt.Errorf(format, values...)) }
	known := func(flag string, given, known []string) {
		for _, name := range given {
			if !slices.Contains(known, name) {
				wrong("%s: %q is unknown; there are %s", flag, name, strings.Join(known, ", "))
			}
		}
	}
	known("-sets", o.sets, setNames())
	known("-peers", o.peers, peerNames())
	known("-again", o.again, append([]string{oursName}, peerNames()...))
	if args > 0 {
		wrong("must have no arguments but flags, got %d", args)
	}
	if o.data == "" && !o.page {
		wrong("-data is missing: the folder of the data files")
	}
	if len(o.sets) == 0 {
		wrong("-sets names none")
	}
	if !(o.minutes > 0) || o.seeds < 1 || o.threads < 1 || o.limit <= 0 {
		wrong("-minutes and -limit are greater than 0, -seeds and -threads at least 1; got %v, %v, %v and %v", o.minutes,
			o.limit, o.seeds, o.threads)
	}
	return errs
}

// processor names the machine: the processor, as Linux calls it, and its cores.
func processor() string {
	model := "a processor without a name"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
