package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
)

// Duration is a length of time; 0 stands for no bound.
type Duration time.Duration

// Set takes a text such as 90s or 1h30m, or "" for no bound.
func (t *Duration) Set(plain any) error {
	text, ok := plain.(string)
	if ok && text == "" {
		*t = 0
		return nil
	}
	length, err := time.ParseDuration(text)
	if !ok || err != nil || length <= 0 {
		return param.Fault{Wanted: t.Wanted()}
	}
	*t = Duration(length)
	return nil
}

// Plain returns the text that Set takes.
func (t *Duration) Plain() any {
	if *t == 0 {
		return ""
	}
	text := time.Duration(*t).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Wanted says what Set takes.
func (t *Duration) Wanted() string { return "a length of time such as 90s, 10m or 1h30m" }

// Check finds no fault.
func (t *Duration) Check() error { return nil }

// Halving is rounds that give more to fewer candidates.
type Halving struct {
	Resource    string
	Least, Most int
	Factor      int
}

// Params declares the keys of the section.
func (s *Halving) Params(l *param.List) {
	l.String(&s.Resource, "resource", "What a round has more of than the one before: rows to train on, or the path of a parameter that takes whole numbers and is no axis, such as rff.features.")
	l.Int(&s.Least, "least", "What the first round has of it; 0 for no rounds: all candidates with all there is.", param.AtLeast(0))
	l.Int(&s.Most, "most", "What the last round has of it, at most the rows that a fold trains on; 0 for these, or for what the pipeline says.", param.AtLeast(0))
	l.Int(&s.Factor, "factor", "How many times as much the next round has, and of how many candidates one gets there.", param.AtLeast(2))
}

// checkStrategy looks at how the grid is searched.
func (d *decoder) checkStrategy() {
	s := d.spec.Search
	exact := s.CV.Kind == "loo" || s.CV.Kind == "gcv"
	if d.has("search.halving") && s.Halving.Least == 0 && !d.has("search.halving.least") {
		d.fault(d.at["search.halving"], "search.halving.least", param.Fault{Problem: "missing", Hint: "what the first round has, such as least: 1000"})
		return
	}
	if s.Halving.Least == 0 {
		return
	}
	fault := func(key string, f param.Fault) {
		at := d.at[key]
		if at == nil {
			at = d.at["search.halving"]
		}
		d.fault(at, key, f)
	}
	if exact {
		fault("search.halving", param.Fault{Problem: "halving wants folds, and cv.kind is " + s.CV.Kind})
	}
	if s.Halving.Most > 0 && s.Halving.Most < s.Halving.Least {
		fault("search.halving.most", param.Fault{Value: s.Halving.Most, Wanted: fmt.Sprintf("a whole number ≥ least, which is %d", s.Halving.Least)})
	}
	d.checkResource(fault)
}

// checkResource looks whether the pipeline has what is halved.
func (d *decoder) checkResource(fault func(key string, f param.Fault)) {
	const key = "search.halving.resource"
	s := d.spec.Search
	if s.Halving.Resource == "rows" || !d.steps {
		return
	}
	if slices.ContainsFunc(s.Grid, func(a gridsearch.Axis) bool { return a.Path == s.Halving.Resource }) {
		fault(key, param.Fault{Problem: s.Halving.Resource + " is an axis of the grid already"})
		return
	}
	if _, whole := d.spec.wholeNumber(s.Halving.Resource); !whole {
		f := param.Fault{Value: s.Halving.Resource, Wanted: "rows, or the path of a parameter that takes whole numbers"}
		var names []string
		for _, p := range param.All(d.spec.Pipeline) {
			names = append(names, p.Path)
		}
		if near := param.Nearest(s.Halving.Resource, names); near != "" && near != s.Halving.Resource {
			f.Hint = "did you mean " + near + "?"
		}
		fault(key, f)
	}
}

// wholeNumber returns the value of a parameter of the pipeline, if it is a whole number.
func (s Spec) wholeNumber(path string) (value int, ok bool) {
	for _, p := range param.All(s.Pipeline) {
		if p.Path == path {
			value, ok = p.Value.(int)
			return value, ok
		}
	}
	return 0, false
}

// halvingOn is the rounds of a search.
func (s Spec) halvingOn(search gridsearch.Search) gridsearch.Halving {
	h := s.Search.Halving
	if h.Resource != "rows" && h.Most == 0 {
		h.Most, _ = s.wholeNumber(h.Resource)
	}
	return gridsearch.Halving{Search: search, Resource: h.Resource, Least: h.Least, Most: h.Most, Factor: h.Factor}
}

// runSearch does the search, in rounds where the spec says so.
func (r *run) runSearch(ctx context.Context, search gridsearch.Search, set datasets.Set) error {
	if r.spec.Search.Halving.Least == 0 {
		var err error
		if r.search, err = search.Run(ctx, set); err == nil {
			r.result.Search = summary(r.search)
		}
		return err
	}
	rungs, err := r.spec.halvingOn(search).Run(ctx, set)
	if err != nil {
		return ofHalving(err)
	}
	r.search = rungs.Last()
	out := summary(r.search)
	out.Candidates, out.Fits = len(rungs[0].Kept), 0
	seconds := 0.0
	for _, rung := range rungs {
		one := summary(rung.Result)
		out.Rounds = append(out.Rounds, Round{Resource: rung.Resource, Candidates: one.Candidates, Best: one.Best})
		out.Fits += one.Fits
		out.Shared = append(out.Shared, one.Shared...)
		seconds += rung.Result.Seconds
	}
	r.search.Seconds = seconds
	slices.Sort(out.Shared)
	out.Shared = slices.Compact(out.Shared)
	r.result.Search = out
	return nil
}

// ofHalving gives a fault of the rounds, which only the number of rows shows, its place in the file.
func ofHalving(err error) error {
	var f param.Fault
	if !errors.As(err, &f) || !slices.Contains([]string{"least", "most", "factor"}, f.Path) {
		return err
	}
	f.Path = "search.halving." + f.Path
	return fmt.Errorf("experiment: %w", f)
}
