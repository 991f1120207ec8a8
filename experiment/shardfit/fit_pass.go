package shardfit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/internal/diagnostics"
	"github.com/bochner-ml/bochner/experiment/internal/distributed"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// learn adds the rows of the shard to the pass.
func learn(ctx context.Context, s *State, o Options) error {
	begin, err := distributed.Copies(s.start, s.begun)
	if err != nil {
		return fmt.Errorf("shardfit: %w", err)
	}
	s.begun = nil
	sizes := s.sizes()
	s.tree = distributed.New(sizes.Leaves(), begin)
	if o.Data != "" {
		if o.Shards != len(sizes) {
			return fmt.Errorf("shardfit: the number of shards must be that of the schema pass, %d, got %d", len(sizes), o.Shards)
		}
		for _, share := range sizes.Piece(o.Shard) {
			if err := learnShare(ctx, s, share, input{o.Shard, o.Data}, o); err != nil {
				return err
			}
		}
		return nil
	}
	files, err := filesOf(s)
	if err != nil {
		return err
	}
	if len(files) != len(sizes) {
		return fmt.Errorf("shardfit: %d files, there were %d when their columns were looked at", len(files), len(sizes))
	}
	for _, share := range sizes.Shard(o.Shard, o.Shards) {
		if err := learnShare(ctx, s, share, files[share.Piece], o); err != nil {
			return err
		}
	}
	return nil
}

func learnShare(ctx context.Context, s *State, share distributed.Share, in input, o Options) error {
	if p := s.pieces[share.Piece]; p.bytes > 0 {
		switch info, err := os.Stat(in.path); {
		case err != nil || !info.Mode().IsRegular():
		case info.Size() != p.bytes || !s.own && filepath.Base(in.path) != p.name:
			return fmt.Errorf("shardfit: %s has %d bytes; when its columns were looked at it was %s with %d", in.path,
				info.Size(), p.name, p.bytes)
		}
	}
	file, name, last, end, err := open(ctx, s, in.path, o)
	if err != nil {
		return err
	}
	defer end()
	src, err := dataload.OpenPiece(ctx, file, name, reader.MatchOptions{Schema: s.all.Schema, Cols: s.all.Cols,
		Targetless: s.spec.Task().Unsupervised()})
	if err != nil {
		return dataload.ErrorOf(ctx, s.spec, "data.train", err)
	}
	last()
	if o.Progress != nil {
		src = reported{src, o.Progress}
	}
	if err := s.tree.Learn(ctx, share, rowsource.Prefetch(src)); err != nil {
		return dataload.ErrorOf(ctx, s.spec, "data.train", err)
	}
	return nil
}

// reported is a source that reports its progress.
type reported struct {
	datasets.Source
	report func(rows int)
}

func (t reported) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	return t.Source.Blocks(ctx, func(block datasets.Set) error {
		t.report(block.Rows())
		return yield(block)
	})
}

// makeModel makes the model of the last pass.
func makeModel(ctx context.Context, s *State, last datasets.Pass, out *Outcome) error {
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
	if s.spec.Task().Unsupervised() {
		m.Schema.Targets = s.all.Schema.Targets
	}
	m.Name, m.Profile, m.Metrics = s.spec.Name, &seen, map[string]float64{}
	m.Versions = versions()
	out.Warnings = append(out.Warnings, diagnostics.FitWarnings(fitted)...)
	out.Model = m
	return nil
}
