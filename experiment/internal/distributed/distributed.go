// Package distributed fits one model to rows in several places, with bits that do not depend on the
// number of workers.
//
// A fit in passes ([datasets.Pass]) sums over rows. Floating-point sums depend on the order of
// summation, so a [Tree] fixes it: its leaves are runs of [Leaf] consecutive rows, and a node is
// the sum of the left and of the right half below it. A worker that has read some leaves stores the
// few highest nodes that these complete, and sends them on. Trees with other leaves are merged in
// any order, and each sum has the same two halves as on one host:
//
//	worker 1: leaves 0 1 2 │ worker 2: leaves 3 4 5 │ worker 3: leaves 6
//	   sends  01 2         │    sends  3 45         │    sends 6
//	merged:   ((01)(23))((45)6)
//
// The package is independent of the workers: it merges states. Package experiment/shardfit
// implements `bochner shard` with it, and distributed/spark, distributed/beam,
// distributed/kubernetes and distributed/slurm run these commands on several hosts.
package distributed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/model"
)

// Leaf is the number of rows in a leaf of a tree, except the last leaf of each piece. With many
// features, a merge costs about as much as adding 200 rows, and a state has the memory of the sums.
// Smaller leaves would increase the cost of merging, larger ones would leave small data to few
// workers.
const Leaf = 8192

// Pieces contains the number of rows of each file or partition. No leaf spans two of them.
type Pieces []int

// Leaves returns how many leaves all pieces have.
func (p Pieces) Leaves() int { return p.Before(len(p)) }

// Before returns how many leaves the first k pieces have, which is the number of the first leaf of the next.
func (p Pieces) Before(k int) int {
	n := 0
	for _, rows := range p[:k] {
		n += leavesOf(rows)
	}
	return n
}

func leavesOf(rows int) int { return (rows + Leaf - 1) / Leaf }

// Rows returns how many rows all pieces have.
func (p Pieces) Rows() int {
	n := 0
	for _, rows := range p {
		n += rows
	}
	return n
}

// Share is a run of leaves in one piece.
type Share struct {
	Piece      int
	First      int  // number of its first leaf
	Begin, End int  // its rows, by their number in the piece; End is one more than the last
	Whole      bool // whether the piece ends with it
}

// Shard returns the leaves of shard i of n, as runs of consecutive leaves, each of one piece.
// Shards are cut at tree nodes of a 16th to a 32nd of a shard's leaves, which bounds the difference
// of their sizes. Thus at most eight nodes represent a shard. With fewer leaves than shards, some
// are empty.
func (p Pieces) Shard(i, n int) []Share {
	all := p.Leaves()
	grain := 1 << max(0, bits.Len(uint(all/n))-5)
	grains := (all + grain - 1) / grain
	return p.between(min(share(i, n, grains)*grain, all), min(share(i+1, n, grains)*grain, all))
}

// share is i/n of all without overflow.
func share(i, n, all int) int {
	hi, lo := bits.Mul64(uint64(i), uint64(all))
	q, _ := bits.Div64(hi, lo, uint64(n))
	return int(q)
}

// Piece returns the leaves of one piece.
func (p Pieces) Piece(k int) []Share {
	first := p.Before(k)
	return p.between(first, first+leavesOf(p[k]))
}

func (p Pieces) between(lo, hi int) (out []Share) {
	first := 0
	for k, rows := range p {
		n := leavesOf(rows)
		if from, to := max(lo-first, 0), min(hi-first, n); from < to {
			out = append(out, Share{Piece: k, First: first + from, Begin: from * Leaf, End: min(to*Leaf, rows), Whole: to == n})
		}
		first += n
	}
	return out
}

// Begin returns an empty pass, the initial state of every leaf: the first pass, or one that
// [Copies] derives from the result of the previous pass.
type Begin func(ctx context.Context) (datasets.Pass, error)

// Copies returns how to make passes like one that Next has returned: each is begun by start, which began the first
// pass of all, and takes the state of this one.
func Copies(start Begin, next datasets.Pass) (Begin, error) {
	state, err := model.Record(next)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (datasets.Pass, error) {
		empty, err := start(ctx)
		if err != nil {
			return nil, err
		}
		return empty, model.Restore(state, empty)
	}, nil
}

// Tree contains the merged passes of some of the leaves.
//
// It is not safe for concurrent use. After an error of Learn or Merge it must not be used.
type Tree struct {
	leaves  int
	begin   Begin
	nodes   map[node]datasets.Pass
	problem error
}

// node covers the leaves from index·2^level, up to 2^level of them.
type node struct{ level, index int }

// New returns an empty tree over the given number of leaves.
func New(leaves int, begin Begin) *Tree {
	return &Tree{leaves: leaves, begin: begin, nodes: map[node]datasets.Pass{}}
}

// Learn adds the rows of a share of the piece read from src.
func (t *Tree) Learn(ctx context.Context, s Share, src datasets.Source) error {
	if t.problem == nil {
		t.problem = t.learn(ctx, s, src)
	}
	return t.problem
}

func (t *Tree) learn(ctx context.Context, s Share, src datasets.Source) error {
	rows, leaf := 0, s.First
	var open datasets.Pass
	close := func() error {
		err := t.insert(ctx, node{0, leaf}, open)
		open, leaf = nil, leaf+1
		return err
	}
	want, end := s.End-s.Begin, s.End
	if s.Whole {
		end++ // detects additional rows
	}
	runs, err := rowsource.Range(src, s.Begin, end, Leaf)
	if err != nil {
		return err
	}
	err = runs.Blocks(ctx, func(block datasets.Set) error {
		if rows+block.Rows() > want {
			return fmt.Errorf("distributed: there are more than the %d rows that there were before", s.End)
		}
		if open == nil {
			var err error
			if open, err = t.begin(ctx); err != nil {
				return err
			}
		}
		if err := open.Add(ctx, block); err != nil {
			return datasets.FromRow(err, s.Begin+rows/Leaf*Leaf)
		}
		if rows += block.Rows(); rows%Leaf == 0 {
			return close()
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case rows < want:
		return fmt.Errorf("distributed: %d rows, there were %d or more before", s.Begin+rows, s.End)
	case open != nil:
		return close()
	}
	return nil
}

// insert adds the pass of a node, and merges nodes that are complete.
func (t *Tree) insert(ctx context.Context, at node, pass datasets.Pass) error {
	for 1<<at.level < t.leaves {
		left, right := node{at.level, at.index &^ 1}, node{at.level, at.index | 1}
		if right.index<<right.level < t.leaves { // else the right half is empty
			other := right
			if at == right {
				other = left
			}
			held := t.nodes[other]
			if held == nil {
				break
			}
			delete(t.nodes, other)
			if other == left {
				held, pass = pass, held
			}
			if err := pass.Merge(ctx, held); err != nil {
				return err
			}
		}
		at = node{at.level + 1, at.index / 2}
	}
	t.nodes[at] = pass
	return nil
}

// ErrTwice reports rows that have been added before.
var ErrTwice = errors.New("these rows have been counted already")

// Merge adds the leaves of the other tree, which must not be used afterwards.
func (t *Tree) Merge(ctx context.Context, other *Tree) error {
	switch {
	case t.problem != nil:
		return t.problem
	case other == t:
		return fmt.Errorf("distributed: %w", ErrTwice)
	case other.problem != nil:
		return other.problem
	case other.leaves != t.leaves:
		return fmt.Errorf("distributed: tree must have %[2]d leaves, got %[1]d", other.leaves, t.leaves)
	}
	for _, pair := range [][2]*Tree{{t, other}, {other, t}} {
		for at := range pair[0].nodes {
			if pair[1].contains(at) {
				lo, hi := t.span(at)
				return fmt.Errorf("distributed: %w: those of leaves %d to %d", ErrTwice, lo, hi-1)
			}
		}
	}
	for _, at := range other.list() {
		if err := t.insert(ctx, at, other.nodes[at]); err != nil {
			t.problem = err
			return err
		}
	}
	other.nodes = map[node]datasets.Pass{}
	return nil
}

// contains reports whether the tree contains a node or one of its ancestors.
func (t *Tree) contains(at node) bool {
	for ; ; at = (node{at.level + 1, at.index / 2}) {
		if t.nodes[at] != nil {
			return true
		}
		if 1<<at.level >= t.leaves {
			return false
		}
	}
}

// span returns the half-open range of leaves of a node.
func (t *Tree) span(at node) (lo, hi int) {
	return at.index << at.level, min((at.index+1)<<at.level, t.leaves)
}

// list returns the nodes in the order of their leaves.
func (t *Tree) list() []node {
	return slices.SortedFunc(maps.Keys(t.nodes), func(a, b node) int {
		return cmp.Compare(a.index<<a.level, b.index<<b.level)
	})
}

// Missing returns the missing leaves as half-open ranges.
func (t *Tree) Missing() (runs [][2]int) {
	next := 0
	for _, at := range t.list() {
		lo, hi := t.span(at)
		if lo > next {
			runs = append(runs, [2]int{next, lo})
		}
		next = hi
	}
	if next < t.leaves {
		runs = append(runs, [2]int{next, t.leaves})
	}
	return runs
}

// Whole returns the pass over all leaves; its Next reports whether another pass is needed.
func (t *Tree) Whole() (datasets.Pass, error) {
	if t.problem != nil {
		return nil, t.problem
	}
	if missing := t.Missing(); len(missing) > 0 || t.leaves == 0 {
		n := 0
		for _, run := range missing {
			n += run[1] - run[0]
		}
		return nil, fmt.Errorf("distributed: %w: %d of %d leaves are missing", datasets.ErrEmpty, n, t.leaves)
	}
	return t.nodes[t.list()[0]], nil
}

// State serializes the tree, or restores it into an empty tree with the same leaves.
func (t *Tree) State(s *model.State) {
	leaves, at := t.leaves, t.list()
	s.Int("leaves", &leaves)
	s.Require(leaves == t.leaves, "the tree is over another number of leaves")
	levels, indices := make([]int, len(at)), make([]int, len(at))
	for k, n := range at {
		levels[k], indices[k] = n.level, n.index
	}
	s.Ints("levels", &levels)
	s.Ints("indices", &indices)
	s.Require(len(levels) == len(indices), "levels and indices of nodes differ in number")
	if s.Err() != nil {
		return
	}
	if s.Restoring() {
		at = make([]node, len(levels))
		for k := range levels {
			at[k] = node{levels[k], indices[k]}
		}
		t.read(s, at)
		return
	}
	for k, n := range at {
		t.nodes[n].State(s.Child(strconv.Itoa(k)))
	}
}

// read fills an empty tree with nodes, none of which contains another.
func (t *Tree) read(s *model.State, list []node) {
	t.nodes = map[node]datasets.Pass{}
	next := 0
	for k, at := range list {
		ok := at.level >= 0 && at.level < 62 && at.index >= 0 && at.index < max(t.leaves, 1) &&
			(at.level == 0 || 1<<(at.level-1) < t.leaves)
		s.Require(ok, "a node that the tree has not")
		if s.Err() != nil {
			return
		}
		lo, hi := t.span(at)
		s.Require(lo >= next && lo < hi, "nodes that lie in each other, or in a wrong order")
		if s.Err() != nil {
			return
		}
		next = hi
		pass, err := t.begin(context.Background())
		if err != nil {
			s.Fail("%v", err)
			return
		}
		if pass.State(s.Child(strconv.Itoa(k))); s.Err() != nil {
			return
		}
		t.nodes[at] = pass
	}
}
