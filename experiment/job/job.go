// Package job fits the pipeline of one experiment file in parts that run anywhere, in any order, and as often as
// whoever runs them likes: the three verbs of `bochner fold`.
//
//	spec, err := job.Load("adult.yaml")
//	part, err := job.Part(ctx, spec, job.Options{Shard: 3, Shards: 64})     // on each worker
//	all, err := job.Merge(ctx, parts...)                                    // in any order, in any groups
//	out, err := job.Finish(ctx, all, job.Options{})                                        // out.Model, or out.Next for another round of parts
//
// A round of parts is one pass over the rows. The first one looks at the columns: which are categories, how
// many rows each file has. Then come the passes of the pipeline, those of its first step that learns something, of
// the next one, and at last of the estimator; each part of such a round begins from what the round before has come
// to (Options.From).
//
// What a part finds is a [State], which goes to a file and back. It says of which experiment, pass and shards it
// is, and a merge refuses what does not belong: another experiment or other rows, a shard that has been counted, a
// damaged file. Whoever does a part again gets the same bytes. Sums are added in an order that only the rows fix
// (package distributed), so the model has the same bits for any number of shards.
//
// Where the file has a search, a part tries its share of the candidates on all rows, and Finish is the run that
// takes up their scores.
package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/profile"
	"github.com/bochner-ml/bochner/datasets/reader"
	"github.com/bochner-ml/bochner/distributed"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/experiment/internal/check"
	"github.com/bochner-ml/bochner/experiment/internal/rows"
	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Load reads an experiment file, with values overridden, and reports all that is wrong with it as a job. It does
// not look at the data, which need not be where it is.
func Load(path string, overrides ...document.Override) (document.Spec, error) {
	text, err := document.ReadText(path)
	if err != nil {
		return document.Spec{}, fmt.Errorf("job: %w", err)
	}
	return Parse(path, text, overrides...)
}

// Parse is Load for a text that stands in a file of that name, to which the names of its data are relative.
func Parse(file string, text []byte, overrides ...document.Override) (document.Spec, error) {
	d := document.Decode(file, text, overrides...)
	if d.Steps {
		d.Faults = append(d.Faults, faultsOf(d.Spec)...)
	}
	return d.Spec, d.Err()
}

// faultsOf is what a job cannot do of what a file may ask for.
func faultsOf(s document.Spec) (faults Faults) {
	add := func(path string, f param.Fault) { faults = append(faults, s.Fault(path, f)) }
	if s.Data.Dataset != "" {
		add("data.dataset", param.Fault{Problem: "built-in data are small; a job reads files", Hint: "bochner run"})
	}
	if s.Search != nil {
		if s.Search.Coordinate() {
			add("search.strategy", param.Fault{Problem: "which candidates coordinate tries depends on the scores of others, and shards do not know them"})
		}
		if s.Search.Halving.Least > 0 {
			add("search.halving", param.Fault{Problem: "which candidates a round keeps depends on the scores of all, and shards do not know them"})
		}
		if s.Search.Budget > 0 {
			add("search.budget", param.Fault{Problem: "a search in shards has no end before its last fit", Hint: "--set search.random=… bounds the candidates"})
		}
		return faults
	}
	if s.Data.Split.Test > 0 {
		add("data.split.test", param.Fault{Problem: "a job learns from all rows of data.train", Hint: "give the rows to test on a file of their own and score the model with bochner evaluate; --set data.split.test=0 learns from all"})
	}
	if s.Intervals != nil {
		add("intervals", param.Fault{Problem: "intervals are not learned by passes", Hint: "leave the section out"})
	}
	if _, err := s.Pipeline.Start(context.Background(), datasets.Schema{}, 1); errors.Is(err, datasets.ErrNoPasses) {
		add("pipeline", param.Fault{Problem: document.Problem(err)})
	}
	return faults
}

// Options say which part of a job it is.
type Options struct {
	Shard, Shards int    // it is shard Shard, from 0, of Shards
	From          *State // what the pass begins from: what [Finish] has returned as Next; nil for the look at the columns
	// Data is the file of the rows of this shard, - for Input. Where it is "" the shard is a share of the rows that
	// the experiment names.
	Data     string
	Input    io.Reader // nil is standard input
	Progress func(rows int)

	Force bool // whether [Finish] replaces the results of another run
}

// Part does one part of one pass.
func Part(ctx context.Context, spec document.Spec, o Options) (*State, error) {
	if o.Shards < 1 || o.Shards > MaxShards || o.Shard < 0 || o.Shard >= o.Shards {
		return nil, fmt.Errorf("job: shard %d of %d; they count from 0, and there are at most %d", o.Shard, o.Shards, MaxShards)
	}
	if err := faultsOf(spec).Err(); err != nil {
		return nil, err
	}
	s, err := newState(spec)
	if err != nil {
		return nil, err
	}
	s.shards, s.done, s.own = o.Shards, []int{o.Shard}, o.Data != ""
	if spec.Search != nil {
		return s, s.try(ctx, o)
	}
	if o.From != nil {
		if err := s.goOn(o.From); err != nil {
			return nil, err
		}
	}
	if spec.Data.SQL.Given() && o.Data == "" {
		return nil, Faults{spec.Fault("data.sql", param.Fault{Problem: "the rows of a query are not shared out", Hint: "give each shard a query of its own, whose rows as CSV are piped into bochner fold part --data -"})}
	}
	if s.pass == 0 {
		return s, s.look(ctx, o)
	}
	return s, s.learn(ctx, o)
}

// goOn takes over what the pass begins from.
func (s *State) goOn(from *State) error {
	if !from.Between() {
		return fmt.Errorf("job: what a part goes on from is what finish has written, and this is a state of %s", shardsOf(from))
	}
	if d := s.values.Differences(from.values); len(d) > 0 {
		return fmt.Errorf("job: --from is of another experiment: %s", d[0])
	}
	var err error
	s.pass, s.pieces, s.all, s.seen, s.again, s.begun = from.pass, from.pieces, from.all, from.seen, from.again, from.begun
	if s.pass > 0 && s.own != from.own {
		return errors.New("job: either every pass is given the rows of its shards (--data), or none")
	}
	s.from, err = from.Digest()
	return err
}

// shardsOf names the shards of a state.
func shardsOf(s *State) string {
	if len(s.done) == 1 {
		return fmt.Sprintf("shard %d of %d", s.done[0], s.shards)
	}
	return fmt.Sprintf("shards %s of %d", few(s.done), s.shards)
}

func few(list []int) string {
	const most = 12
	texts := make([]string, min(len(list), most))
	for k := range texts {
		texts[k] = fmt.Sprint(list[k])
	}
	if len(list) > most {
		return strings.Join(texts, ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	if len(texts) > 1 {
		return strings.Join(texts[:len(texts)-1], ", ") + " and " + texts[len(texts)-1]
	}
	return strings.Join(texts, "")
}

// input is one file of rows.
type input struct {
	index int
	path  string
}

// inputs are the files that the look of a shard reads.
func (s *State) inputs(o Options) ([]input, error) {
	if o.Data != "" {
		return []input{{o.Shard, o.Data}}, nil
	}
	all, err := s.files()
	if err != nil {
		return nil, err
	}
	var out []input
	for k := range all {
		if k*o.Shards/len(all) == o.Shard {
			out = append(out, all[k])
		}
	}
	return out, nil
}

// files are those of the training rows.
func (s *State) files() ([]input, error) {
	list, err := rows.Files(s.spec.Data).List(s.spec.Data.Train)
	if err != nil {
		return nil, rows.ErrorOf(context.Background(), s.spec, "data.train", err)
	}
	out := make([]input, len(list))
	for k, path := range list {
		out[k] = input{k, path}
	}
	return out, nil
}

// open says how a file is read, and how it is called. The function returned ends the reading.
func (s *State) open(ctx context.Context, path string, o Options) (file reader.Files, name string, last func(), end func(), err error) {
	file, name, last, end = s.spec.Data.Files, path, func() {}, func() {}
	if reader.ComesOnce(path) {
		stream := reader.NewStream(ctx, path, o.Input)
		if path == reader.StandardInput {
			name = "standard input"
		}
		file.FS, last, end = stream, stream.LastPass, stream.Close
	}
	if file.Format == "auto" && reader.FormatOf(name) == "" {
		file, err = file.Guessed(name)
	}
	if err != nil {
		end()
	}
	return file, name, last, end, err
}

// look learns what the columns of the shard's files are.
func (s *State) look(ctx context.Context, o Options) error {
	inputs, err := s.inputs(o)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		p, err := s.lookAt(ctx, in, o)
		if err != nil {
			return rows.ErrorOf(ctx, s.spec, "data.train", err)
		}
		if err := s.checkTask(p.Schema); err != nil {
			return err
		}
		s.pieces = append(s.pieces, p)
		if o.Progress != nil {
			o.Progress(p.Rows)
		}
	}
	return nil
}

func (s *State) lookAt(ctx context.Context, in input, o Options) (piece, error) {
	p := piece{index: in.index, name: filepath.Base(in.path)}
	if info, err := os.Stat(in.path); err == nil && info.Mode().IsRegular() {
		if p.bytes = info.Size(); p.bytes == 0 {
			return p, nil
		}
	}
	file, name, _, end, err := s.open(ctx, in.path, o)
	if err != nil {
		return p, err
	}
	defer end()
	p.Piece, err = rows.Look(ctx, file, name, s.again)
	return p, err
}

// start begins the first pass of all.
func (s *State) start(ctx context.Context) (datasets.Pass, error) {
	learned, err := s.learner().Start(ctx, s.schema(), s.all.Cols)
	if err != nil || s.seen != "" {
		return learned, err
	}
	return &described{learned, profile.Start(s.schema(), s.all.Cols)}, nil
}

// learn adds the rows of the shard to the pass.
func (s *State) learn(ctx context.Context, o Options) error {
	begin, err := distributed.Copies(s.start, s.begun)
	if err != nil {
		return fmt.Errorf("job: %w", err)
	}
	s.begun = nil
	sizes := s.sizes()
	s.tree = distributed.New(sizes.Leaves(), begin)
	if o.Data != "" {
		if o.Shards != len(sizes) {
			return fmt.Errorf("job: the look at the columns was of %d shards with rows of their own, now they are %d", len(sizes), o.Shards)
		}
		for _, share := range sizes.Piece(o.Shard) {
			if err := s.learnShare(ctx, share, input{o.Shard, o.Data}, o); err != nil {
				return err
			}
		}
		return nil
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	if len(files) != len(sizes) {
		return fmt.Errorf("job: %d files, there were %d when their columns were looked at", len(files), len(sizes))
	}
	for _, share := range sizes.Shard(o.Shard, o.Shards) {
		if err := s.learnShare(ctx, share, files[share.Piece], o); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) learnShare(ctx context.Context, share distributed.Share, in input, o Options) error {
	if p := s.pieces[share.Piece]; p.bytes > 0 {
		switch info, err := os.Stat(in.path); {
		case err != nil || !info.Mode().IsRegular():
		case info.Size() != p.bytes || !s.own && filepath.Base(in.path) != p.name:
			return fmt.Errorf("job: %s has %d bytes; when its columns were looked at it was %s with %d", in.path, info.Size(), p.name, p.bytes)
		}
	}
	file, name, last, end, err := s.open(ctx, in.path, o)
	if err != nil {
		return err
	}
	defer end()
	src, err := rows.OpenPiece(ctx, file, name, reader.Likeness{Schema: s.all.Schema, Cols: s.all.Cols, Targetless: s.spec.Task().Targetless()})
	if err != nil {
		return rows.ErrorOf(ctx, s.spec, "data.train", err)
	}
	last()
	if o.Progress != nil {
		src = told{src, o.Progress}
	}
	if err := s.tree.Learn(ctx, share, datasets.Prefetch(src)); err != nil {
		return rows.ErrorOf(ctx, s.spec, "data.train", err)
	}
	return nil
}

// told is a source that tells how many rows it has handed out.
type told struct {
	datasets.Source
	tell func(rows int)
}

func (t told) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	return t.Source.Blocks(ctx, func(block datasets.Set) error {
		t.tell(block.Rows())
		return yield(block)
	})
}

// Merge puts states of one pass together, which cover different shards. Where a merge fails none of them is of any use
// any more.
func Merge(ctx context.Context, states ...*State) (*State, error) {
	if len(states) == 0 {
		return nil, errors.New("job: no states to merge")
	}
	first := states[0]
	for k, o := range states {
		if o.Between() {
			return nil, &Refused{k, errors.New("it is what finish has written, and no shard's")}
		}
		if k == 0 {
			continue
		}
		if err := first.same(o); err != nil {
			return nil, &Refused{k, err}
		}
		for _, i := range o.done {
			if _, twice := slices.BinarySearch(first.done, i); twice {
				return nil, &Refused{k, fmt.Errorf("shard %d of %d is in an earlier one, too: %w", i, first.shards, distributed.ErrTwice)}
			}
		}
		first.done = append(slices.Clone(first.done), o.done...)
		slices.Sort(first.done)
		if first.spec.Search != nil {
			if err := first.mergeTried(o); err != nil {
				return nil, &Refused{k, err}
			}
		} else if first.pass == 0 {
			first.pieces = append(slices.Clone(first.pieces), o.pieces...)
			slices.SortFunc(first.pieces, func(a, b piece) int { return a.index - b.index })
		} else if err := first.tree.Merge(ctx, o.tree); err != nil {
			if ctx.Err() != nil {
				return nil, cause.Err(ctx)
			}
			return nil, &Refused{k, err}
		}
	}
	return first, nil
}

// Refused is the error of a merge: which state does not belong, from 0, and why.
type Refused struct {
	State int
	Err   error
}

// Error says why.
func (r *Refused) Error() string { return fmt.Sprintf("job: state %d: %v", r.State, r.Err) }

// Unwrap returns why.
func (r *Refused) Unwrap() error { return r.Err }

// Outcome is what a pass has come to.
type Outcome struct {
	Pass   int      // that has come to its end; 0 is the look at the columns
	Rows   int      // that it has read
	Learns string   // name of the step, or of the estimator, that the next pass is for; "" where there is none
	Again  []string // columns that the look has to take for categorical the next time

	// Result is what the run of an experiment with a search has come to, whose files are in output.dir.
	Result   *experiment.Result
	Next     *State           // what the parts of the next pass begin from; nil where there is none
	Model    *modelfile.Model // where there is none
	Warnings []string
}

// Finish ends a pass whose shards have all been merged. Of the options it reads Force alone.
func Finish(ctx context.Context, s *State, o Options) (*Outcome, error) {
	if s.Between() {
		return nil, errors.New("job: it is what finish has written already: the next parts begin from it")
	}
	if missing := s.Missing(); len(missing) > 0 {
		return nil, fmt.Errorf("job: %s: no part of that has been merged", are(missing, s.shards))
	}
	if s.spec.Search != nil {
		return s.choose(ctx, o.Force)
	}
	next := &State{spec: s.spec, values: s.values, text: s.text, own: s.own, pass: s.pass + 1, pieces: s.pieces, all: s.all, seen: s.seen}
	if s.pass == 0 {
		return s.seenAll(ctx, next)
	}
	whole, err := s.tree.Whole()
	if err != nil {
		return nil, err
	}
	if d, first := whole.(*described); first {
		seen, err := profile.Finish(ctx, d.seen)
		if err == nil {
			next.seen, err = seen.Encode(1 << 20)
		}
		if err != nil {
			return nil, err
		}
		whole = d.learned
	}
	out := &Outcome{Pass: s.pass, Rows: s.all.Rows}
	if next.begun, err = whole.Next(ctx); err != nil {
		return nil, err
	}
	if next.begun != nil {
		out.Next, out.Learns = next, learns(next.begun)
		return out, nil
	}
	return out, next.model(ctx, whole, out)
}

func are(missing []int, of int) string {
	if len(missing) == 1 {
		return fmt.Sprintf("shard %d of %d is missing", missing[0], of)
	}
	return fmt.Sprintf("shards %s of %d are missing", few(missing), of)
}

// learns is the name of what a pass is for.
func learns(p datasets.Pass) string {
	if d, ok := p.(*described); ok {
		p = d.learned
	}
	if named, ok := p.(interface{ Learns() string }); ok {
		return named.Learns()
	}
	return ""
}

// seenAll makes one schema of all that was looked at, and begins the first pass of the pipeline.
func (s *State) seenAll(ctx context.Context, next *State) (*Outcome, error) {
	for k, p := range s.pieces {
		if p.index != k {
			return nil, fmt.Errorf("job: nobody has looked at file %d of the data", k)
		}
	}
	pieces := make([]rows.Piece, len(s.pieces))
	for k, p := range s.pieces {
		pieces[k] = p.Piece
	}
	all, again, err := rows.Together(s.spec.Data.Files, pieces)
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	out := &Outcome{Rows: all.Rows}
	if len(again) > 0 {
		next.pass, next.pieces, next.again = 0, nil, append(slices.Clone(s.again), again...)
		out.Next, out.Again = next, again
		return out, nil
	}
	next.all = all
	if err := next.check(ctx); err != nil {
		return nil, err
	}
	if next.begun, err = next.start(ctx); err != nil {
		return nil, err
	}
	out.Next, out.Learns = next, learns(next.begun)
	return out, nil
}

// check looks whether the experiment and its rows go together.
func (s *State) check(ctx context.Context) error {
	if err := s.checkTask(s.all.Schema); err != nil {
		return err
	}
	task := s.spec.Task()
	if task == datasets.AnyTask {
		task = datasets.Regression
		if len(s.all.Schema.Classes()) > 0 {
			task = datasets.Classification
		}
	}
	parts := &rows.Parts{Train: glance{s.all}, Task: task}
	faults, err := check.Rows(ctx, s.spec, parts)
	if err != nil {
		return err
	}
	return faults.Err()
}

// checkTask returns an error if the task is not given and rows of that schema do not show it. Some
// of the rows do not tell whether a numeric target stands for classes.
func (s *State) checkTask(schema datasets.Schema) error {
	if s.spec.Task() != datasets.AnyTask || len(schema.Targets) == 0 || len(schema.Classes()) > 0 {
		return nil
	}
	return Faults{s.spec.Fault("data.task", param.Fault{
		Problem: "must be given in a fit by parts: the target " + schema.Targets[0].Name + " is numeric",
		Hint:    "--set data.task=regression, or classification for numbers that stand for classes",
	})}
}

// glance is a source of which only the columns are known.
type glance struct{ rows.Piece }

func (g glance) Schema() datasets.Schema { return g.Piece.Schema }
func (g glance) Dims() (n, cols int)     { return g.Rows, g.Cols }
func (g glance) Survey(context.Context) ([]datasets.Content, error) {
	return g.Content, nil
}
func (g glance) Blocks(context.Context, func(datasets.Set) error) error {
	return errors.New("job: these rows are elsewhere")
}

// model makes the model of the last pass.
func (s *State) model(ctx context.Context, last datasets.Pass, out *Outcome) error {
	fitted, err := s.learner().Finish(ctx, last)
	if err != nil {
		return err
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		return err
	}
	seen, err := profile.Decode(s.seen, s.schema(), s.all.Cols)
	if err != nil {
		return err
	}
	if m.Reading, err = s.spec.Data.Encode(); err != nil {
		return err
	}
	if s.spec.Task().Targetless() {
		m.Schema.Targets = s.all.Schema.Targets
	}
	m.Name, m.Profile, m.Metrics = s.spec.Name, &seen, map[string]float64{}
	m.Versions = versions()
	var r estimator.Reporter
	if estimator.AsWithin(fitted, &r) {
		report := r.Report()
		if !report.Converged && len(report.Warnings) == 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the fit did not converge: %s stopped after %d iterations; raise max_iter or tol", report.Solver, report.Iterations))
		}
		out.Warnings = append(out.Warnings, report.Warnings...)
	}
	out.Model = m
	return nil
}

// described is a pass of the pipeline, the first one, on whose way the rows are described.
type described struct{ learned, seen datasets.Pass }

func (d *described) Add(ctx context.Context, block datasets.Set) error {
	return errors.Join(d.learned.Add(ctx, block), d.seen.Add(ctx, block))
}

func (d *described) Merge(ctx context.Context, other datasets.Pass) error {
	o, ok := other.(*described)
	if !ok {
		return fmt.Errorf("job: a pass of type %T", other)
	}
	if err := d.learned.Merge(ctx, o.learned); err != nil {
		return err
	}
	return d.seen.Merge(ctx, o.seen)
}

func (d *described) Next(ctx context.Context) (datasets.Pass, error) { return d.learned.Next(ctx) }

func (d *described) State(s *model.State) {
	d.learned.State(s.Child("learned"))
	if s.Err() == nil {
		d.seen.State(s.Child("seen"))
	}
}

var _ estimator.PassEstimator = pipeline.Pipeline{}
