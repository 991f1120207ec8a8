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

// partTask is a part with its records, read independently of earlier parts.
type partTask struct {
	part   Part
	result *recordBatch
	lines  int
	err    error // the result is invalid, and the part must be read in order
	end    error // error of Next, instead of a part
}

// readParts reads r in parts for c, which collects every part in order.
func readParts(ctx context.Context, r Splittable, c *textCursor) error {
	ps, before, err := r.Parts(ctx)
	if err != nil {
		return err
	}
	defer ps.Close()
	t := partReader{reader: r, parts: ps, cursor: c, before: before}
	workers := runtime.GOMAXPROCS(0)
	for w := c.file.spare.Get().(*partTask); ; {
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if t.next(w); w.end == nil {
			w.work(ctx)
		}
		if err := t.finish(w); err != nil {
			return err
		} else if w.end != nil {
			c.file.spare.Put(w)
			return nil
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
	cursor     *textCursor
	before     int // lines
}

// next reads the next part.
func (t *partReader) next(w *partTask) {
	if w.part, w.end = t.parts.Next(w.part); w.end != nil {
		return
	}
	if w.result == nil || len(w.result.columns) != len(t.cursor.requests) {
		w.result = t.cursor.newBatch()
	}
	w.result.textCursor = t.cursor
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
	lines, err := t.cursor.collect(w, t.before)
	t.before += lines
	return err
}

// run reads with several workers while the caller collects the results in order.
func (t *partReader) run(ctx context.Context, spare *partTask, workers int) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	slots, tasks := workers+2, []*partTask{spare}
	free := make(chan *partTask, slots)
	made := make([]chan *partTask, slots) // by index of the part modulo slots
	for k := range made {
		if made[k] = make(chan *partTask, 1); k > 0 {
			tasks = append(tasks, t.cursor.file.spare.Get().(*partTask))
		}
		free <- tasks[k]
	}
	defer func() {
		for _, w := range tasks {
			if err == nil { // else the consumer may still use one
				t.cursor.file.spare.Put(w)
			}
		}
	}()
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
