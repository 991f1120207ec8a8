package distributed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/distributed"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/model"
)

// track is a pass that writes down the order of its additions: which rows, in which brackets.
type track struct{ text string }

func (p *track) Add(_ context.Context, block datasets.Set) error {
	p.text += fmt.Sprintf("%v-%v ", block.Y[0], block.Y[block.Rows()-1])
	return nil
}

func (p *track) Merge(_ context.Context, other datasets.Pass) error {
	p.text = "(" + p.text + "+" + other.(*track).text + ")"
	return nil
}

func (p *track) Next(context.Context) (datasets.Pass, error) { return nil, nil }
func (p *track) State(s *model.State)                        { s.String("text", &p.text) }

func begin(context.Context) (datasets.Pass, error) { return &track{}, nil }

// numbered is n rows whose targets are their numbers.
func numbered(n int) datasets.Set {
	out := datasets.Set{X: mat.NewDense(max(n, 1), 1, nil), Y: make([]float64, n)}
	for i := range out.Y {
		out.Y[i] = float64(i)
	}
	return out
}

// cut is a set in blocks of a size.
type cut struct {
	datasets.Source
	set  datasets.Set
	size int
}

func (c cut) Blocks(ctx context.Context, yield func(datasets.Set) error) error {
	for lo := 0; lo < c.set.Rows(); lo += c.size {
		if err := yield(c.set.Slice(lo, min(lo+c.size, c.set.Rows()))); err != nil {
			return err
		}
	}
	return nil
}

// learned is the text of all rows of the pieces, learned in n shards that are merged in a random order, some of them
// by way of files, from blocks of a random size.
func learned(t *testing.T, pieces distributed.Pieces, n int, rng *rand.Rand) string {
	t.Helper()
	ctx := context.Background()
	trees := make([]*distributed.Tree, n)
	for i := range trees {
		trees[i] = distributed.New(pieces.Leaves(), begin)
		for _, s := range pieces.Shard(i, n) {
			set := numbered(pieces[s.Piece])
			if err := trees[i].Learn(ctx, s, cut{set.Source(), set, 1 + rng.IntN(9000)}); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(2) == 0 {
			state, err := model.Record(trees[i])
			if err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := archive.Write(&file, archive.Header{}, state); err != nil {
				t.Fatal(err)
			}
			_, state, err = archive.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
			if err != nil {
				t.Fatal(err)
			}
			trees[i] = distributed.New(pieces.Leaves(), begin)
			if err := model.Restore(state, trees[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for len(trees) > 1 {
		k := rng.IntN(len(trees) - 1)
		if err := trees[k].Merge(ctx, trees[k+1]); err != nil {
			t.Fatal(err)
		}
		trees = slices.Delete(trees, k+1, k+2)
		rng.Shuffle(len(trees), func(a, b int) { trees[a], trees[b] = trees[b], trees[a] })
	}
	whole, err := trees[0].Whole()
	if err != nil {
		t.Fatal(err)
	}
	return whole.(*track).text
}

// TestOneTree checks that every node is the sum of the same two halves, whatever the distribution
// of leaves and the order of merges.
func TestOneTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, pieces := range []distributed.Pieces{{1}, {8192}, {8193}, {100_000}, {0, 5, 0, 20_000, 8192, 1},
		{50_000, 50_000, 50_000}} {
		want := learned(t, pieces, 1, rng)
		for _, n := range []int{2, 3, 7, 64} {
			if got := learned(t, pieces, n, rng); got != want {
				t.Errorf("%v in %d shards: %s, in one: %s", pieces, n, got, want)
			}
		}
	}
	if got, want := learned(t, distributed.Pieces{20_000, 1}, 3, rng),
		"((0-2047 2048-4095 4096-6143 6144-8191 +8192-10239 10240-12287 12288-14335 14336-16383 )+(16384-18431 "+
			"18432-19999 +0-0 ))"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestShards checks that shards partition the leaves into similar sizes, and that at most eight
// nodes represent one.
func TestShards(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		pieces := make(distributed.Pieces, 1+rng.IntN(5))
		for k := range pieces {
			pieces[k] = rng.IntN(1 << rng.IntN(18))
		}
		n, leaf, rows, sizes := 1+rng.IntN(70), 0, 0, []int{}
		for i := range n {
			before := leaf
			for _, s := range pieces.Shard(i, n) {
				if s.First != leaf || s.First != pieces.Before(s.Piece)+s.Begin/distributed.Leaf ||
					s.Whole != (s.End == pieces[s.Piece]) {
					t.Fatalf("%v in %d: %+v begins at leaf %d", pieces, n, s, leaf)
				}
				leaf += (s.End - s.Begin + distributed.Leaf - 1) / distributed.Leaf
				rows += s.End - s.Begin
			}
			sizes = append(sizes, leaf-before)
		}
		if leaf != pieces.Leaves() || rows != pieces.Rows() || slices.Max(sizes)-slices.Min(sizes) > max(1, leaf/n/8) {
			t.Fatalf("%v in %d: %d leaves, %d rows, shards of %v", pieces, n, leaf, rows, sizes)
		}
	}
}

// A shard of many leaves is eight nodes at most.
func TestFewNodes(t *testing.T) {
	for _, n := range []int{7, 100, 999} {
		pieces := distributed.Pieces{3_000_000 * 10}
		for i := range n {
			lo, hi := 0, 0
			for _, s := range pieces.Shard(i, n) {
				lo, hi = s.First, s.First+(s.End-s.Begin+distributed.Leaf-1)/distributed.Leaf
			}
			if k := nodes(lo, hi, pieces.Leaves()); k > 8 {
				t.Errorf("shard %d of %d, leaves %d to %d: %d nodes", i, n, lo, hi, k)
			}
		}
	}
}

// nodes returns the number of maximal nodes that cover leaves lo to hi−1.
func nodes(lo, hi, all int) (n int) {
	for lo < hi {
		size := 1
		for lo%(2*size) == 0 && (lo+2*size <= hi || hi == all && lo+size < hi) {
			size *= 2
		}
		lo, n = lo+size, n+1
	}
	return n
}

// TestErrors checks that duplicate, missing, too many or too few rows are errors.
func TestErrors(t *testing.T) {
	ctx := context.Background()
	pieces := distributed.Pieces{30_000}
	set := numbered(30_000)
	tree := func(i, n int) *distributed.Tree {
		out := distributed.New(pieces.Leaves(), begin)
		for _, s := range pieces.Shard(i, n) {
			if err := out.Learn(ctx, s, set.Source()); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	half := tree(0, 2)
	for _, other := range []*distributed.Tree{tree(0, 4), tree(0, 1), tree(1, 3), tree(0, 2)} {
		if err := half.Merge(ctx, other); !errors.Is(err, distributed.ErrTwice) {
			t.Errorf("merged twice: %v", err)
		}
	}
	if _, err := half.Whole(); err == nil {
		t.Error("half of the leaves are taken for all")
	}
	if got := tree(1, 4).Missing(); !slices.Equal(got, [][2]int{{0, 1}, {2, 4}}) {
		t.Errorf("missing %v", got)
	}
	if err := half.Merge(ctx, tree(1, 2)); err != nil {
		t.Error(err)
	}
	if _, err := half.Whole(); err != nil {
		t.Error(err)
	}
	for _, n := range []int{29_999, 30_001} {
		other := numbered(n)
		if err := distributed.New(pieces.Leaves(), begin).Learn(ctx, pieces.Shard(1, 2)[0], other.Source()); err == nil {
			t.Errorf("%d rows instead of 30000 are no error", n)
		}
	}
	if err := half.Merge(ctx, distributed.New(5, begin)); err == nil {
		t.Error("a tree of other rows was merged")
	}
	if _, err := distributed.New(0, begin).Whole(); err == nil {
		t.Error("no rows at all are enough")
	}
}

// TestDamagedState checks that a file with nested or invalid nodes is rejected as damaged.
func TestDamagedState(t *testing.T) {
	for _, nodes := range [][2][]int64{{{0, 0}, {0, 0}}, {{1, 0}, {0, 1}}, {{0}, {4}}, {{9}, {0}}, {{-1}, {0}},
		{{0, 0}, {1, 0}}, {{0}, {0, 1}}} {
		a := &archive.Archive{Scalars: map[string]any{"leaves": 4.0, "0/text": "", "1/text": ""},
			Arrays: map[string]archive.Array{
				"levels": {Shape: []int{len(nodes[0])}, Ints: nodes[0]}, "indices": {Shape: []int{len(nodes[1])}, Ints: nodes[1]}}}
		if err := model.Restore(a, distributed.New(4, begin)); err == nil {
			t.Errorf("%v was read", nodes)
		}
	}
}
