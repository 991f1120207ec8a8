// Command curves measures how the time of each estimator grows with its sizes, holds what a plan says beside it, and
// writes both into docs/performance.md, with a picture of the times against the rows:
//
//	go run ./bench/curves                      some minutes
//	go run ./bench/curves -only ridge,logistic these estimators; printed only
//	go run ./bench/curves -quick               small sizes, to see that it works; printed only
//	go run ./bench/curves -specs               sixty experiments, planned and run
//
// Each point is a process of its own, whose peak memory is its own; the best of three times counts, of what takes longer
// than 0.6 s the first. Run it on a machine that does nothing else.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/bench/internal/page"
)

type options struct {
	only    []string
	quick   bool
	specs   bool
	repeat  int
	cores   int
	page    string
	picture string
	fit, at string // of a process that measures one point
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "curves:", err)
		os.Exit(1)
	}
}

func parse() (o options, err error) {
	only := flag.String("only", "", "comma-separated estimators, or experiments with -specs; printed only")
	flag.BoolVar(&o.quick, "quick", false, "small sizes; printed only")
	flag.BoolVar(&o.specs, "specs", false, "plan and run sixty experiments instead")
	flag.IntVar(&o.repeat, "repeat", 2, "how often an experiment is planned and run; the best of each counts")
	flag.IntVar(&o.cores, "cores", runtime.NumCPU(), "cores to use")
	flag.StringVar(&o.page, "page", "docs/performance.md", "page to write into")
	flag.StringVar(&o.picture, "picture", "docs/performance-curves.svg", "file of the picture")
	flag.StringVar(&o.fit, "fit", "", "estimator of the one point to measure, which this program asks of itself")
	flag.StringVar(&o.at, "at", "", "that point, as JSON")
	flag.Parse()
	if flag.NArg() > 0 || o.repeat < 1 || o.cores < 1 {
		return o, fmt.Errorf("-repeat and -cores are at least 1 and there are no arguments, got %q", os.Args[1:])
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, nil
}

func run() error {
	o, err := parse()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch {
	case o.fit != "":
		return child(ctx, o.fit, o.at, o.quick)
	case o.specs:
		return specs(ctx, o)
	}
	printed := o.quick || o.only != nil
	place, _ := places(o.page)
	if !printed {
		if err := page.Check(place); err != nil {
			return err
		}
	}
	list, err := chosen(o)
	if err != nil {
		return err
	}
	var found []curves
	for _, w := range list {
		c, err := w.curves(ctx, o)
		if err != nil {
			return err
		}
		found = append(found, c)
	}
	text := table(found)
	fmt.Print(text)
	if printed {
		return nil
	}
	shown := fmt.Sprintf("\n![Seconds of a fit of each estimator against rows, width, inputs, outputs and candidates](%s)\n", filepath.Base(o.picture))
	return errors.Join(os.WriteFile(o.picture, []byte(picture(found)), 0o644), place.Write(dated(text+shown)))
}

// chosen returns the works that are asked for.
func chosen(o options) (out []work, err error) {
	all := works(o.quick)
	if o.only == nil {
		return all, nil
	}
	for _, name := range o.only {
		k := slices.IndexFunc(all, func(w work) bool { return w.name == name })
		if k < 0 {
			return nil, fmt.Errorf("-only: no estimator is called %q", name)
		}
		out = append(out, all[k])
	}
	return out, nil
}

// curves are those of one work: the points along each axis with what was measured.
type curves struct {
	work
	base   measured
	points map[string][]point
	times  map[string][]measured
}

// curves measures all points of a work. A point on several curves is measured once.
func (w work) curves(ctx context.Context, o options) (curves, error) {
	c := curves{work: w, points: map[string][]point{}, times: map[string][]measured{}}
	done := map[point]measured{}
	for _, axis := range axes {
		for _, p := range w.along(axis, o.cores) {
			m, known := done[p]
			if !known {
				var err error
				if m, err = w.apart(ctx, p, o.quick); err != nil {
					return c, err
				}
				done[p] = m
				fmt.Fprintf(os.Stderr, "  %-24s %-10s %8g  %8.3f s, planned %8.3f; processor %8.3f; %5.0f MiB, planned %5.0f\n",
					w.name, axis, p.value(axis), m.Seconds, m.Planned, m.Processor, m.Peak, m.MiB)
			}
			c.points[axis], c.times[axis] = append(c.points[axis], p), append(c.times[axis], m)
		}
	}
	at := w.base
	at.Cores = o.cores
	c.base = done[at]
	return c, nil
}

// apart measures a point in a process of its own.
func (w work) apart(ctx context.Context, p point, quick bool) (m measured, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	where, err := json.Marshal(p)
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(ctx, self, "-fit", w.name, "-at", string(where), fmt.Sprintf("-quick=%v", quick))
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", p.Cores))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return m, errors.Join(ctx.Err(), fmt.Errorf("%w\n%s", err, said.Bytes()))
	}
	return m, json.Unmarshal(out, &m)
}
