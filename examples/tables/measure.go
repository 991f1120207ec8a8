package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
)

// measureAll measures everything that is missing in the log.
func measureAll(ctx context.Context, o options, l *resultLog) error {
	scratch, err := os.MkdirTemp("", "tables")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	methods, absent, err := findMethods(ctx, o, scratch)
	if err != nil {
		return err
	}
	if len(absent) > 0 {
		fmt.Fprintln(os.Stderr, "not installed, left out:", strings.Join(absent, ", "))
	}
	m := measurer{o, l, methods, scratch}
	for _, s := range sets {
		if !slices.Contains(o.sets, s.name) {
			continue
		}
		switch err := m.set(ctx, s); {
		case errors.Is(err, fs.ErrNotExist) && len(o.sets) == len(sets):
			fmt.Fprintf(os.Stderr, "%s left out: %v\n", s.name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

type measurer struct {
	options
	log     *resultLog
	methods []method
	scratch string // directory for the rows
}

// missing returns the methods to be measured on a split.
func (m measurer) missing(s set, split int) []method {
	var out []method
	for _, one := range m.methods {
		if slices.Contains(m.again, one.name) || !m.log.has(which{s.name, split, one.name}) {
			out = append(out, one)
		}
	}
	return out
}

// set measures all splits of a set.
func (m measurer) set(ctx context.Context, s set) error {
	data, test, err := s.read(ctx, m.data)
	if err != nil {
		return err
	}
	for split := 1; split <= splits(data.Rows(), m.seeds); split++ {
		methods := m.missing(s, split)
		if len(methods) == 0 {
			continue
		}
		if err := m.split(ctx, s, data, test, split, methods); err != nil {
			return err
		}
	}
	return nil
}

// split runs methods sequentially on the same rows.
func (m measurer) split(ctx context.Context, s set, data, test datasets.Set, split int, methods []method) error {
	train, tests, err := s.part(data, test, split)
	if err != nil {
		return err
	}
	folder := filepath.Join(m.scratch, s.name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	j, err := newJob(m.options, s, train, tests, split, folder)
	if err != nil {
		return err
	}
	for _, one := range methods {
		r := result{which: which{s.name, split, one.name}, Version: one.version, Task: string(s.task), Score: s.score,
			Train: train.Rows(), Test: tests.Rows(), Inputs: train.Cols(), Classes: len(train.Schema.Classes())}
		if err := m.measure(ctx, j, one, &r); err != nil {
			return err
		}
		if err := m.log.add(r); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, r.line())
	}
	return nil
}

// measure lets a method do a job. An error of the method is part of the result.
func (m measurer) measure(ctx context.Context, j job, one method, r *result) error {
	limited, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	start := time.Now()
	path, notes, err := one.predict(limited, j)
	r.costs = notes
	r.Seconds = time.Since(start).Seconds()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if limited.Err() != nil {
		err = fmt.Errorf("took longer than %v", m.limit)
	}
	if err == nil {
		var predicted []float64
		if predicted, err = j.predictions(ctx, path); err == nil {
			r.Loss, r.RMSE, err = j.scores(predicted)
		}
	}
	if err != nil {
		r.Failed = strings.ReplaceAll(err.Error(), m.scratch+string(filepath.Separator), "")
	}
	return nil
}

func (r result) line() string {
	words := fmt.Sprintf("%-14s split %d  %-11s", r.Set, r.Split, r.Method)
	if r.Failed != "" {
		return words + "failed: " + r.Failed
	}
	if r.Task == string(datasets.Regression) {
		return words + fmt.Sprintf("1 − R² %.4f, RMSE %.4g, %.1f s", r.Loss, r.RMSE, r.Seconds)
	}
	return words + fmt.Sprintf("%s %.2f %%, %.1f s", measureName(r.Task, r.Score), 100*r.Loss, r.Seconds)
}
