package beamjob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"

	"github.com/bochner-ml/bochner/experiment/shardfit"
)

const spec = `
name: rows
data: {train: rows.csv, target: y, task: regression}
pipeline:
  - columns:
      - {name: numbers, select: numeric, steps: [standardize]}
      - {name: categories, select: categorical, steps: [onehot]}
  - pca: {components: 4}
  - rff: {features: 60, gamma: 0.3}
  - ridge: {alpha: 0.1}
`

// rows writes a file of rows and returns its job, with a separate store.
func rows(t *testing.T) Job {
	t.Helper()
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("a,b,colour,y\n")
	for range 40_000 {
		a, z := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&b, "%.6f,%.6f,%s,%.6f\n", a, z, []string{"red", "green", "blue"}[rng.IntN(3)],
			math.Sin(a*z)+0.1*rng.NormFloat64())
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return Job{Spec: spec, File: filepath.Join(dir, "rows.yaml"), Shards: 20, Store: filepath.Join(dir, "store"),
		Passes: 6}
}

// run fits a job on prism and returns the model file.
func run(t *testing.T, j Job) ([]byte, error) {
	t.Helper()
	beam.Init()
	p, s := beam.NewPipelineWithRoot()
	passert.Equals(s, Fit(s, j), j.Store+"/model.bochner")
	if _, err := prism.Execute(context.Background(), p); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(j.Store, "model.bochner"))
}

// verbs is the model file of the job without Beam, in another number of shards.
func verbs(t *testing.T, j Job) []byte {
	t.Helper()
	ctx := context.Background()
	parsed, err := j.spec()
	if err != nil {
		t.Fatal(err)
	}
	var from *shardfit.State
	for {
		var all *shardfit.State
		for i := range 3 {
			part, err := shardfit.Fit(ctx, parsed, shardfit.Options{Shard: i, Shards: 3, From: from})
			if err == nil && all != nil {
				part, err = shardfit.Merge(ctx, all, part)
			}
			if err != nil {
				t.Fatal(err)
			}
			all = part
		}
		out, err := all.Finish(ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		if out.Model != nil {
			var file bytes.Buffer
			if err := out.Model.Write(&file); err != nil {
				t.Fatal(err)
			}
			return file.Bytes()
		}
		from = out.Next
	}
}

// A model of prism is that of the verbs, to the bit; with passes to spare, too, and with every part done three times.
func TestOneModel(t *testing.T) {
	j := rows(t)
	want := verbs(t, j)
	for _, n := range []int{1, 3} {
		repetitions = n
		j.Store += "again"
		got, err := run(t, j)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("with every part done %d times another model than that of the verbs", n)
		}
	}
	repetitions = 1
}

// TestOtherJobs checks that iterative fits and sharded searches give the same result as a single
// process.
func TestOtherJobs(t *testing.T) {
	const logistic = `
name: sides
data: {train: rows.csv, target: colour, task: classification}
pipeline: [standardize, {rff: {features: 40, gamma: 0.3}}, logistic]
`
	const search = `
name: best
data: {train: rows.csv, target: y, task: regression}
pipeline:
  - columns:
      - {name: numbers, select: numeric, steps: [standardize]}
      - {name: categories, select: categorical, steps: [onehot]}
  - rff: {features: 40}
  - ridge
search:
  grid:
    rff.gamma: [0.03, 0.1, 0.3, 1, 3]
    ridge.alpha: [1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5]
report: {html: false, importance: {repeats: 0}}
output: {dir: FOLDER}
`
	for text, passes := range map[string]int{logistic: 30, search: 2} {
		j := rows(t)
		j.Spec, j.Shards, j.Passes = strings.ReplaceAll(text, "FOLDER", t.TempDir()), 5, passes
		want := verbs(t, j)
		got, err := run(t, j)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s\nanother model than that of the verbs", text)
		}
	}
}

// A task that fails before or after writing ends the pipeline on a runner without retries, such as
// prism. A second run yields the model without repeating finished tasks.
func TestResume(t *testing.T) {
	j := rows(t)
	want := verbs(t, j)
	var written atomic.Int64
	defer func() { failing = nil }()
	for _, broken := range []struct {
		at    string
		after bool // whether it has written
	}{{"pass-1/part-7", true}, {"pass-2/merge-", false}, {"pass-3/next", true}} { // in the order of the job
		at, after := broken.at, broken.after
		var failed atomic.Bool
		failing = func(name string, done bool) error {
			if done {
				written.Add(1)
			}
			if strings.Contains(name, at) && done == after {
				failed.Store(true)
				return errors.New("the machine is gone")
			}
			return nil
		}
		// The error may be that of another bundle, which the runner stops.
		if _, err := run(t, j); err == nil || !failed.Load() {
			t.Fatalf("%s: failed %v, error %v", at, failed.Load(), err)
		}
	}
	failing = func(_ string, done bool) error {
		if done {
			written.Add(1)
		}
		return nil
	}
	got, err := run(t, j)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("another model than that of the verbs")
	}
	// 5 passes of 20 parts, 2 + 1 merges and a finish; canceled concurrent tasks may have run
	// twice.
	if n := written.Load(); n < 5*24 || n > 5*24+8 {
		t.Errorf("%d files were written, want about %d", n, 5*24)
	}
}

// Too few passes are an error that states it, and a run with more resumes.
func TestPasses(t *testing.T) {
	j := rows(t)
	j.Passes = 2
	if _, err := run(t, j); err == nil || !strings.Contains(err.Error(), errPasses.Error()) {
		t.Fatal(err)
	}
	j.Passes = 5
	got, err := run(t, j)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, verbs(t, j)) {
		t.Error("another model than that of the verbs")
	}
}

// Errors of a job are reported before a pipeline is built.
func TestCheck(t *testing.T) {
	j := rows(t)
	for want, wrong := range map[string]func(j *Job){
		"0 shards":              func(j *Job) { j.Shards = 0 },
		"Passes must be ≥ 2":    func(j *Job) { j.Passes = 1 },
		"no store":              func(j *Job) { j.Store = "" },
		"rff.gama":              func(j *Job) { j.Set = []string{"rff.gama=1"} },
		"pipeline: missing":     func(j *Job) { j.Spec = "data: {train: rows.csv}\n" },
		"not learned by passes": func(j *Job) { j.Spec = strings.Replace(spec, "- pca: {components: 4}", "- ard", 1) },
	} {
		other := j
		wrong(&other)
		if err := other.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want something with: %s", err, want)
		}
	}
	if err := j.Check(); err != nil {
		t.Error(err)
	}
}
