package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
)

// run is the result of an experiment, with the CPU time of its process.
type run struct {
	result.Result
	CPU float64 `json:"cpu"`
}

// single makes a run in this process and prints its result.
func single(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no experiment file given")
	}
	overrides := make([]experiment.Override, len(args)-1)
	for k, arg := range args[1:] {
		if err := overrides[k].UnmarshalText([]byte(arg)); err != nil {
			return err
		}
	}
	spec, err := experiment.Load(ctx, args[0], overrides...)
	if err != nil {
		return err
	}
	result, err := experiment.Run(ctx, spec, experiment.Options{})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// start runs an experiment in a separate process, to measure its memory and CPU time.
func start(ctx context.Context, file string, overrides ...string) (run, error) {
	program, err := os.Executable()
	if err != nil {
		return run{}, err
	}
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, program, append([]string{"-one", file}, overrides...)...)
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return run{}, fmt.Errorf("%s: %w\n%s", file, err, stderr.String())
	}
	var r run
	if err := json.Unmarshal(stdout.Bytes(), &r.Result); err != nil {
		return run{}, fmt.Errorf("%s: %w", file, err)
	}
	r.CPU = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	return r, nil
}

// find returns the path of a file below the data directory, plain or gzip-compressed.
func (t *table) find(name string) (string, error) {
	found := ""
	err := filepath.WalkDir(t.data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.TrimSuffix(d.Name(), ".gz") == strings.TrimSuffix(name, ".gz") {
			found = path
			return fs.SkipAll
		}
		return err
	})
	if err == nil && found == "" {
		err = fmt.Errorf("no %s in %s", name, t.data)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// measure runs a line of the table with every seed. Parameters are searched for on the training
// rows: once, or with every seed where the seed draws the training rows.
func (t *table) measure(ctx context.Context, l line) (runs []run, err error) {
	where, err := t.locate(l)
	if err != nil {
		return nil, err
	}
	var chosen []string
	for seed := 1; seed <= t.seeds; seed++ {
		set := append(slices.Clone(where), fmt.Sprintf("seed=%d", seed), "output.dir=runs/paper/"+l.file)
		file := filepath.Join(t.folder, l.file+".yaml")
		if seed == 1 || l.drawn {
			key, search := fmt.Sprint(l.file, " ", seed), set
			if l.search != nil {
				key, search = l.key(seed), slices.Concat(set, l.set, l.search)
			}
			if chosen, err = t.choose(ctx, file, key, search); err != nil {
				return runs, err
			}
		}
		set = append(set, l.set...)
		var r run
		err := t.memo.recall(fmt.Sprint(l.key(seed), " ", chosen), &r, func() error {
			r, err = start(ctx, file, append(set, chosen...)...)
			return err
		})
		if err != nil {
			return runs, err
		}
		fmt.Fprintf(os.Stderr, "%s seed %d: %.2f %%, %.1f s to fit, %v\n", l.name(), seed, l.error(r), r.Seconds.Refit,
			chosen)
		runs = append(runs, r)
	}
	return runs, nil
}

// choose runs the search and returns the overrides that set its result.
func (t *table) choose(ctx context.Context, file, key string, set []string) ([]string, error) {
	var r run
	err := t.memo.recall("search "+key, &r, func() (err error) {
		r, err = start(ctx, file, set...)
		return err
	})
	if err != nil {
		return nil, err
	}
	chosen := []string{"search="}
	if r.Search == nil {
		return chosen, nil
	}
	for path, value := range r.Search.Best.Params {
		chosen = append(chosen, fmt.Sprintf("%s=%v", path, value))
	}
	slices.Sort(chosen)
	return chosen, nil
}

// locate returns the overrides for the locations of the data.
func (t *table) locate(l line) ([]string, error) {
	var set []string
	for path, name := range map[string]string{"data.train": l.train, "data.test": l.test} {
		if name == "" {
			continue
		}
		at, err := t.find(name)
		if err != nil && name == "census.csv" {
			at, err = t.census()
		}
		if err != nil {
			return nil, err
		}
		set = append(set, path+"="+at)
	}
	slices.Sort(set)
	return set, nil
}
