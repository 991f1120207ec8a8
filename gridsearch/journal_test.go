package gridsearch

import (
	"bytes"
	"context"
	"errors"
	"hash"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/runtime/journal"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/matrices"
)

// journaled is a small search with a journal: a failure, a missing score and an awkward number among
// its outcomes.
func journaled(t *testing.T, p *probe) (Search, datasets.Set) {
	spec := newLine()
	spec.probe = p
	s := NewSearch(spec, Axis{Path: "shrink", Values: []any{1.0 / 3, 1}},
		Axis{Path: "mode", Values: []any{"fit", "fail", "stuck"}})
	s.Splitter, s.Score, s.Scores = datasets.KFold{Folds: 2}, "mse", []string{"mean_squared_log_error"}
	s.Workers = 1
	s.Journal = filepath.Join(t.TempDir(), "journal.jsonl")
	return s, quantities(20)
}

// A search resumes from a journal truncated at any byte, to the same table, and repeats only the
// missing fits.
func TestResumeFromEveryByte(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		p := &probe{}
		s, data := journaled(t, p)
		step := 1
		if sweep || !exhaustive.Tests() {
			step = 11
		}
		if sweep {
			s.Estimator = batching{line: s.Estimator.(line)}
		}
		want := table(mustRun(t, s, data))
		whole, err := os.ReadFile(s.Journal)
		if err != nil {
			t.Fatal(err)
		}
		for size := 0; size <= len(whole); size += step {
			if err := os.WriteFile(s.Journal, whole[:size], 0o644); err != nil {
				t.Fatal(err)
			}
			entries := min(12, max(0, bytes.Count(whole[:size], []byte("\n"))-1))
			p.fits = 0
			r := mustRun(t, s, data)
			if got := table(r); got != want {
				t.Fatalf("resumed from %d bytes of %d, the table is\n%s\nwant\n%s", size, len(whole), got, want)
			}
			if r.Resumed != entries || !sweep && p.fits != 12-entries+1 {
				t.Fatalf("resumed from %d bytes with %d entries: %d taken, %d fits", size, entries, r.Resumed, p.fits)
			}
			if size%55 == 0 { // the next journal is complete again
				p.fits = 0
				if r := mustRun(t, s, data); r.Resumed != 12 || p.fits != 1 || table(r) != want {
					t.Fatalf("%d bytes, then a whole journal: %d taken, %d fits", size, r.Resumed, p.fits)
				}
			}
		}
	}
}

// TestResumeAfterCancel checks that a canceled search keeps finished fits, and that only the others
// are fitted later.
func TestResumeAfterCancel(t *testing.T) {
	data := quantities(40)
	want := table(mustRun(t, lineSearch(nil), data))
	for _, after := range []int{1, 5, 17, 35} {
		p := &probe{}
		s := lineSearch(p)
		s.Workers = 3
		s.Journal = filepath.Join(t.TempDir(), "journal")
		ctx, cancel := context.WithCancel(context.Background())
		s.Progress = func(p Progress) {
			if p.Done == after {
				cancel()
			}
		}
		if _, err := s.Run(ctx, data); !errors.Is(err, context.Canceled) {
			t.Fatalf("error is %v", err)
		}
		p.fits, s.Progress = 0, nil
		r := mustRun(t, s, data)
		if table(r) != want {
			t.Errorf("cancelled after %d: the table differs", after)
		}
		if r.Resumed < after || p.fits != 36-r.Resumed+1 {
			t.Errorf("cancelled after %d: %d taken, %d fits", after, r.Resumed, p.fits)
		}
	}
}

// TestBatchOfMissingFits checks that only missing fits are requested from a batch.
func TestBatchOfMissingFits(t *testing.T) {
	s, data := journaled(t, nil)
	var asked []int
	s.Estimator = batching{line: newLine(), asked: &asked}
	mustRun(t, s, data)
	whole, err := os.ReadFile(s.Journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	// The fake goes through the last fold first: six entries are all candidates on fold 1.
	if err := os.WriteFile(s.Journal, bytes.Join(lines[:1+8], nil), 0o644); err != nil {
		t.Fatal(err)
	}
	mustRun(t, s, data)
	mustRun(t, s, data)
	if want := []int{12, 4}; !slices.Equal(asked, want) {
		t.Errorf("batches were of %v fits, want %v", asked, want)
	}
}

// Fits that end well after the search was stopped are kept as well.
func TestCancelKeepsFinishedFits(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		s := lineSearch(&probe{deaf: true, delay: time.Millisecond})
		want := 3
		if sweep {
			s.Estimator, want = batching{line: s.Estimator.(line)}, 1
		}
		s.Workers = 3
		s.Journal = filepath.Join(t.TempDir(), "journal")
		ctx, cancel := context.WithCancel(context.Background())
		s.Progress = func(p Progress) {
			if p.Done == 1 {
				cancel()
			}
		}
		if _, err := s.Run(ctx, quantities(20)); err != context.Canceled {
			t.Fatalf("error is %v", err)
		}
		s.Progress = nil
		if r := mustRun(t, s, quantities(20)); r.Resumed != want {
			t.Errorf("sweep %v: %d fits were kept, want %d", sweep, r.Resumed, want)
		}
	}
}

// TestSweepFillsGaps checks that a sweep adds exactly the missing fits to the journal.
func TestSweepFillsGaps(t *testing.T) {
	s, data := journaled(t, nil)
	s.Estimator = batching{line: newLine()}
	want := table(mustRun(t, s, data))
	whole, err := os.ReadFile(s.Journal)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		share := rng.Float64()
		kept, entries := "", 0
		for i, line := range strings.SplitAfter(string(whole), "\n") {
			if i == 0 || strings.HasPrefix(line, `{"candidate"`) && rng.Float64() < share {
				kept, entries = kept+line, entries+1
			}
		}
		if err := os.WriteFile(s.Journal, []byte(kept), 0o644); err != nil {
			t.Fatal(err)
		}
		r := mustRun(t, s, data)
		if table(r) != want || r.Resumed != entries-1 {
			t.Errorf("with %d of 12 fits: %d taken, the table is\n%s\nwant\n%s", entries-1, r.Resumed, table(r), want)
		}
		after, _ := os.ReadFile(s.Journal)
		if n := bytes.Count(after, []byte(`{"candidate"`)); n != 12 {
			t.Errorf("with %d of 12 fits: the journal has %d in the end", entries-1, n)
		}
	}
}

// TestJournalOfCompleteSweep checks that the journal of a complete sweep records the shared work, and
// that duplicate entries count once.
func TestJournalOfCompleteSweep(t *testing.T) {
	s, data := journaled(t, nil)
	s.Estimator = batching{line: newLine(), problem: "modest"}
	mustRun(t, s, data)
	whole, err := os.ReadFile(s.Journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if err := os.WriteFile(s.Journal, append(whole, lines[1]...), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := mustRun(t, s, data); !slices.Equal(r.Shared, []string{"prefix"}) || r.Resumed != 12 {
		t.Errorf("shared is %q, %d fits taken", r.Shared, r.Resumed)
	}
}

// A journal of another search is rejected with the difference.
func TestJournalOfAnotherSearch(t *testing.T) {
	const other = "it is of another search, which differs in "
	const rest = "; remove it to start again"
	for name, c := range map[string]struct {
		change func(s *Search, data *datasets.Set)
		want   string
	}{
		"target":  {func(_ *Search, data *datasets.Set) { data.Y[3] += 1e-15 * data.Y[3] }, other + "data" + rest},
		"input":   {func(_ *Search, data *datasets.Set) { data.X.(*mat.Dense).Set(19, 1, 0) }, other + "data" + rest},
		"weights": {func(_ *Search, data *datasets.Set) { data.Weights = nil }, other + "data" + rest},
		"groups":  {func(_ *Search, data *datasets.Set) { data.Groups = make([]int, 20) }, other + "data" + rest},
		"name": {func(_ *Search, data *datasets.Set) { data.Schema.Targets = []datasets.Column{{Name: "y"}} },
			other + "data" + rest},
		"folds": {func(s *Search, _ *datasets.Set) { s.Splitter = datasets.KFold{Folds: 2, Shuffle: true} },
			other + "folds" + rest},
		"values": {func(s *Search, _ *datasets.Set) { s.Grid[0].Values = []any{0.5, 1} }, other + "grid" + rest},
		"order":  {func(s *Search, _ *datasets.Set) { slices.Reverse(s.Grid) }, other + "grid" + rest},
		"spec": {func(s *Search, _ *datasets.Set) { s.Estimator = line{Shrink: 1, Mode: "fit", Shift: 1} },
			other + "estimator" + rest},
		"type":   {func(s *Search, _ *datasets.Set) { s.Estimator = batching{line: newLine()} }, other + "estimator" + rest},
		"scores": {func(s *Search, _ *datasets.Set) { s.Scores = nil }, other + "scores" + rest},
		"two parts": {func(s *Search, data *datasets.Set) { s.Scores, data.Weights = nil, nil },
			other + "data, scores" + rest},
	} {
		s, data := journaled(t, nil)
		mustRun(t, s, data)
		before, _ := os.ReadFile(s.Journal)
		c.change(&s, &data)
		_, err := s.Run(context.Background(), data)
		if want := "gridsearch: journal " + s.Journal + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: error is %v, want %s", name, err, want)
		}
		if after, _ := os.ReadFile(s.Journal); !bytes.Equal(before, after) {
			t.Errorf("%s: the journal was changed", name)
		}
	}
}

// TestJournalOfTheSameSearch checks that options without effect on the scores do not change the
// identity of the journal.
func TestJournalOfTheSameSearch(t *testing.T) {
	s, data := journaled(t, nil)
	mustRun(t, s, data)
	s.Refit, s.Workers, s.Estimator, s.Score = RefitOneStdError, 5, line{Shrink: 0.1, Mode: "nan"}, "mean_squared_error"
	if r := mustRun(t, s, data); r.Resumed != 12 {
		t.Errorf("%d taken from the journal", r.Resumed)
	}
}

func TestDamagedJournal(t *testing.T) {
	s, data := journaled(t, nil)
	mustRun(t, s, data)
	whole, err := os.ReadFile(s.Journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	second := func(line string) string { return lines[0] + string(journal.Seal([]byte(line))) + lines[2] }
	const foreign = "this is not the journal of a search; move it or remove it"
	const stray = "line 2 is damaged: it is of no fit of this search; remove the file to start again"
	for _, c := range []struct{ content, want string }{
		{"my thesis", foreign},
		{"my thesis\n", foreign},
		{strings.Repeat("x", 5000), foreign},
		{strings.Repeat("x", 5000) + "\n", foreign},
		{string(journal.Seal([]byte("{}"))), foreign},
		{lines[0][:len(lines[0])-10] + "\n", foreign},
		{string(journal.Seal([]byte(strings.Replace(lines[0][:len(lines[0])-10], `"version":2`, `"version":3`, 1)))),
			"format version must be 2, got 3; remove the file to start again"},
		{strings.Replace(string(whole), `"candidate":0`, `"candidate":1`, 1),
			"line 2 is damaged: its checksum is wrong; remove the file to start again"},
		{second(`{"candidate":6,"fold":0,"scores":[1,1]}`), stray},
		{second(`{"candidate":0,"fold":2,"scores":[1,1]}`), stray},
		{second(`{"candidate":-1,"fold":0,"scores":[1,1]}`), stray},
		{second(`{"candidate":0,"fold":0,"scores":[1]}`), stray},
		{second(`{"candidate":0,"scores":[1,1]}`), stray},
		{second(`{"candidate":0,"fold":0,"scores":[null,1]}`),
			"line 2 is damaged: a fit has either a score or a failure; remove the file to start again"},
		{second(`{"candidate":0,"fold":0,"scores":[1,1],"more":1}`),
			"line 2 is damaged: json: unknown field \"more\"; remove the file to start again"},
		{second(`{"candidate":0,`), "line 2 is damaged: unexpected EOF; remove the file to start again"},
		{second("\x00\x00"), "line 2 is damaged: invalid character '\\x00' looking for beginning of value; remove the " +
			"file to start again"},
	} {
		if err := os.WriteFile(s.Journal, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := s.Run(context.Background(), data)
		if want := "gridsearch: journal " + s.Journal + ": " + c.want; err == nil || err.Error() != want {
			t.Errorf("%q: error is %v, want %s", c.content, err, want)
		}
		if after, _ := os.ReadFile(s.Journal); string(after) != c.content {
			t.Errorf("%q: the file was changed", c.content)
		}
	}
	s.Journal = filepath.Join(t.TempDir(), "no", "such", "folder")
	if _, err := s.Run(context.Background(), data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: error is %v", err)
	}
}

// Any journal is refused or taken in; none makes the search panic or count a fit it has not.
func FuzzJournal(f *testing.F) {
	s, data := lineSearch(nil), quantities(20)
	s.Journal = filepath.Join(f.TempDir(), "seed")
	mustRun(f, s, data)
	whole, err := os.ReadFile(s.Journal)
	if err != nil {
		f.Fatal(err)
	}
	header := whole[:bytes.IndexByte(whole, '\n')+1]
	f.Add(whole[len(header):])
	f.Add([]byte(`{"candidate":1,"fold":0,"scores":[null],"failed":"x"}` + "\n" + `{"shared":["a"]}`))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, entries []byte) {
		s := s
		s.Journal = filepath.Join(t.TempDir(), "journal")
		var sealed []byte
		for line := range bytes.SplitSeq(entries, []byte{'\n'}) {
			sealed = append(sealed, journal.Seal(line)...)
		}
		if err := os.WriteFile(s.Journal, slices.Concat(header, sealed), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := s.prepare(data, MaxCandidates)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.next(); err != nil {
			t.Fatal(err)
		}
		if r.openJournal() != nil {
			return
		}
		r.Close()
		r.resume()
		done := 0
		for _, row := range r.outcomes {
			for k, o := range row {
				if o.Done {
					done++
				} else {
					row[k] = outcome{Scores: []float64{math.NaN()}, Failed: "not fitted"}
				}
			}
		}
		if done != r.done {
			t.Errorf("%d fits are done, %d were counted", done, r.done)
		}
		out, err := r.result()
		if err != nil {
			return
		}
		for _, c := range out.Candidates {
			if math.IsNaN(c.Mean) != (c.Failed != "") || len(c.Folds) != 3 || c.Rank < 1 || c.Rank > 12 {
				t.Errorf("candidate is %+v", c)
			}
		}
	})
}

// TestDataHash checks that the hash of the data depends on every number, in all representations.
func TestDataHash(t *testing.T) {
	dense := mat.NewDense(2, 3, []float64{1, 0, 2, 0, 0, 3})
	csr := matrices.CSRFromDense(dense)
	indptr, indices, _ := csr.Raw()
	one, err := matrices.NewSharedCSR(2, 3, indptr, indices, 1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := matrices.NewSharedCSR(2, 3, indptr, indices, 2)
	if err != nil {
		t.Fatal(err)
	}
	changed := mat.DenseCopyOf(dense)
	changed.Set(1, 2, 4)
	sum := func(data datasets.Set) string {
		return journal.Sum(func(w hash.Hash) { journal.Rows(w, data) })
	}
	seen := map[string]int{}
	for i, X := range []mat.Matrix{dense, csr, one, two, changed, matrices.CSRFromDense(changed), dense.T(), changed.T()} {
		h := sum(datasets.Set{X: X})
		if j, ok := seen[h]; ok {
			t.Errorf("matrices %d and %d have one sum", j, i)
		}
		seen[h] = i
	}
	if sum(datasets.Set{X: dense, Y: []float64{1, 2}}) == sum(datasets.Set{X: dense, Weights: []float64{1, 2}}) {
		t.Error("targets and weights have one sum")
	}
}
