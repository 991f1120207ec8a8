package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/memory"
	"github.com/bochner-ml/bochner/internal/processor"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/yaml"
)

// measured is what fits of a point took, and what a plan says of one.
type measured struct {
	Seconds   float64 `json:"seconds"`   // on the clock, the best
	Processor float64 `json:"processor"` // seconds of all cores, the least; 0 where the system does not tell
	Peak      float64 `json:"peak_mib"`  // of the process above what it had with its rows; 0 where the system does not tell
	Planned   float64 `json:"planned"`   // seconds
	MiB       float64 `json:"planned_mib"`
}

const (
	repeats = 3
	enough  = 0.6 // seconds after which a fit is not repeated
)

// child fits one point of the work of that name and prints what it took.
func child(ctx context.Context, name, where string, quick bool) error {
	var p point
	if err := json.Unmarshal([]byte(where), &p); err != nil {
		return err
	}
	for _, w := range works(quick) {
		if w.name == name {
			m, err := w.measure(ctx, p)
			if err != nil {
				return fmt.Errorf("%s at %s: %w", name, where, err)
			}
			return json.NewEncoder(os.Stdout).Encode(m)
		}
	}
	return fmt.Errorf("no estimator is called %q", name)
}

// measure fits a pipeline, or searches, some times.
func (w work) measure(ctx context.Context, p point) (m measured, err error) {
	machine, err := w.pipeline(p.Width)
	if err != nil {
		return m, err
	}
	set := rows(p, w.task)
	search := gridsearch.NewSearch(machine, gridsearch.Axis{Path: w.penalty, Values: gridsearch.Log(1e-3, 10, max(p.Candidates, 1))})
	search.Splitter = datasets.KFold{Folds: 3}
	fit := func() error {
		if p.Candidates > 0 {
			_, err := search.Run(ctx, set)
			return err
		}
		_, err := machine.Fit(ctx, set)
		return err
	}
	if err = w.plan(&m, machine, search, set, p); err != nil {
		return m, err
	}
	before := memory.Peak()
	for k, began := 0, time.Now(); k < repeats && (k == 0 || time.Since(began).Seconds() < enough); k++ {
		used, at := processor.Time(), time.Now()
		if err := fit(); err != nil {
			return m, err
		}
		took, by := time.Since(at).Seconds(), (processor.Time() - used).Seconds()
		if k == 0 {
			m.Seconds, m.Processor, m.Peak = took, by, float64(memory.Peak()-before)/(1<<20)
		}
		m.Seconds, m.Processor = min(m.Seconds, took), min(m.Processor, by)
	}
	return m, nil
}

// plan notes what a plan says of the fit, or of the search with the last fit.
func (w work) plan(m *measured, machine pipeline.Pipeline, search gridsearch.Search, set datasets.Set, p point) error {
	shape := set.Shape()
	if w.task.Targetless() {
		shape = set.WithoutTargets().Shape()
	}
	cost := machine.Cost(shape)
	m.MiB = float64(cost.Bytes) / (1 << 20)
	if p.Candidates == 0 {
		m.Planned = gridsearch.Speed().Seconds(cost)
		return nil
	}
	plan, err := search.Plan(set)
	m.Planned = plan.Seconds + plan.Pace.Seconds(cost)
	m.MiB = max(m.MiB, float64(plan.Bytes)/(1<<20))
	return err
}

// pipeline is that of the work with maps of a width.
func (w work) pipeline(width int) (pipeline.Pipeline, error) {
	machine, err := yaml.Unmarshal([]byte(strings.ReplaceAll(w.yaml, "WIDTH", fmt.Sprint(width))), yaml.Origin{File: w.name})
	if err != nil || !w.float32 {
		return machine, err
	}
	spec, err := param.With(machine, param.Setting{Path: "precision", Value: pipeline.Float32})
	if err != nil {
		return machine, err
	}
	return spec.(pipeline.Pipeline), nil
}

// rows draws normal inputs x and the targets sin xⱼ + xⱼ₊₁xⱼ₊₂ + ε/10, or classes of about the same size by the first of them.
func rows(p point, task datasets.Task) datasets.Set {
	rng := rand.New(rand.NewPCG(1, uint64(p.Inputs)))
	set := datasets.Set{X: mat.NewDense(p.Rows, p.Inputs, nil), Y: make([]float64, p.Rows)}
	for j := range p.Inputs {
		set.Schema.Columns = append(set.Schema.Columns, datasets.Column{Name: fmt.Sprintf("x%d", j)})
	}
	targets := p.Outputs
	if task != datasets.Regression {
		targets = 1
	}
	values := mat.NewDense(p.Rows, targets, nil)
	for i := range p.Rows {
		x := set.X.(*mat.Dense).RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		for t := range targets {
			at := func(j int) float64 { return x[(t+j)%len(x)] }
			values.Set(i, t, math.Sin(at(0))+at(1)*at(2)+rng.NormFloat64()/10)
		}
		set.Y[i] = values.At(i, 0)
	}
	switch {
	case task == datasets.Classification:
		classes := datasets.Column{Name: "y", Kind: datasets.Categorical}
		for c := range p.Outputs {
			classes.Levels = append(classes.Levels, fmt.Sprintf("c%d", c))
		}
		for i, y := range set.Y {
			below := (1 + math.Erf(y/1.2/math.Sqrt2)) / 2
			set.Y[i] = min(math.Floor(below*float64(p.Outputs)), float64(p.Outputs-1))
		}
		set.Schema.Targets = []datasets.Column{classes}
	case task == datasets.Regression:
		for t := range targets {
			set.Schema.Targets = append(set.Schema.Targets, datasets.Column{Name: fmt.Sprintf("y%d", t)})
		}
		if targets > 1 {
			set.Targets = values
		}
	}
	return set
}
