package table

import (
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Splittable is a Reader whose records can be read in parts by several goroutines.
type Splittable interface {
	Reader
	// Parts starts a pass, and returns the number of lines before the first part.
	Parts(ctx context.Context) (ps Parts, before int, err error)
	// CheckUnchanged returns an error if the file has changed since the first pass. Call it after
	// reading and before using the records.
	CheckUnchanged() error
}

// Parts splits records into consecutive parts.
type Parts interface {
	// Next returns the next part, reusing the memory of used unless that is nil; io.EOF after the
	// last part.
	Next(used Part) (Part, error)
	// More reports whether another part may follow.
	More() bool
	Close() error
}

// Part is a sequence of consecutive records. It can be read repeatedly, but not concurrently.
type Part interface {
	// Records calls yield for every record until the first error, which it returns with the number
	// of lines. Line numbers start after before.
	Records(ctx context.Context, before int, yield func(r *Record) error) (lines int, err error)
	// Independent reports whether the part can be read before its turn; if not, it is read only
	// once.
	Independent() bool
	// Fraction returns the approximate fraction of the file up to the end of the part; 0 if
	// unknown.
	Fraction() float64
}

// partResult is computed from one part, independently of earlier parts.
type partResult interface {
	// begin resets the result. Parts begin in their order.
	begin()
	add(rec *Record) error
}

// partTask is a part with its result.
type partTask struct {
	part   Part
	result partResult
	lines  int
	err    error // the result is invalid, and the part must be read in order
	end    error // error of Next, instead of a part
}

// readParts reads r in parts, and calls collect for every part in order. collect gets the result of
// the part, unless its err is set, and the number of lines before; it returns the number of lines
// of the part.
func readParts(ctx context.Context, r Splittable, share func() partResult,
	take func(w *partTask, before int) (lines int, err error)) error {
	ps, before, err := r.Parts(ctx)
	if err != nil {
		return err
	}
	defer ps.Close()
	t := partReader{reader: r, parts: ps, newResult: share, before: before, collect: take}
	workers := runtime.GOMAXPROCS(0)
	for w := (&partTask{}); ; {
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if t.next(w); w.end == nil {
			w.work(ctx)
		}
		if err := t.finish(w); err != nil || w.end != nil {
			return err
		}
		if ps.More() && workers > 1 {
			return t.run(ctx, w, workers)
		}
	}
}

// partReader is one pass in parts.
type partReader struct {
	reader     Splittable
	sync.Mutex // protects parts and number
	parts      Parts
	number     int // index of the next part
	newResult  func() partResult
	before     int // lines
	collect    func(w *partTask, before int) (lines int, err error)
}

// next reads the next part.
func (t *partReader) next(w *partTask) {
	if w.part, w.end = t.parts.Next(w.part); w.end != nil {
		return
	}
	if w.result == nil {
		w.result = t.newResult()
	}
	w.result.begin()
}

// work computes the result of a part.
func (w *partTask) work(ctx context.Context) {
	if w.err = errNotIndependent; w.part.Independent() {
		w.lines, w.err = w.part.Records(ctx, 0, w.result.add)
	}
}

// errNotIndependent marks a part that must be read in order.
var errNotIndependent error = notIndependent{}

type notIndependent struct{}

func (notIndependent) Error() string { return "the part must be read in order" }

// finish collects the part, or handles the end.
func (t *partReader) finish(w *partTask) error {
	if w.end == io.EOF {
		return t.reader.CheckUnchanged()
	}
	if w.end != nil {
		return w.end
	}
	lines, err := t.collect(w, t.before)
	t.before += lines
	return err
}

// run reads with several workers while the caller collects the results in order.
func (t *partReader) run(ctx context.Context, spare *partTask, workers int) error {
	ctx, cancel := context.WithCancel(ctx)
	slots := workers + 2
	free := make(chan *partTask, slots)
	made := make([]chan *partTask, slots) // by index of the part modulo slots
	for k := range made {
		made[k] = make(chan *partTask, 1)
		free <- spare
		spare = &partTask{}
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range workers {
		all.Go(func() {
			for t.worker(ctx, free, made) {
			}
		})
	}
	for number := 0; ; number++ {
		var w *partTask
		select {
		case w = <-made[number%slots]:
		case <-ctx.Done():
			return ctxerr.Check(ctx)
		}
		if err := t.finish(w); err != nil || w.end != nil {
			return err
		}
		free <- w
	}
}

// worker computes the result of one part, and reports whether another part may follow.
func (t *partReader) worker(ctx context.Context, free <-chan *partTask, made []chan *partTask) bool {
	var w *partTask
	select {
	case w = <-free:
	case <-ctx.Done():
		return false
	}
	t.Lock()
	number := t.number
	t.number++
	t.next(w)
	t.Unlock()
	more := w.end == nil
	if more {
		w.work(ctx)
	}
	made[number%len(made)] <- w
	return more
}
