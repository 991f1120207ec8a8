package table

import (
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// Parted is a Reader whose records several goroutines read at once, part by part.
type Parted interface {
	Reader
	// Parts begins a reading, behind so many lines.
	Parts(ctx context.Context) (ps Parts, before int, err error)
	// Same returns an error where what is read is not what it was at first: it may have changed after it was
	// read, and before it was handed out.
	Same() error
}

// Parts cuts records into parts, one after the other.
type Parts interface {
	// Next returns the next part, in the memory of one that is not needed any more, if that is not nil;
	// io.EOF is behind the last.
	Next(used Part) (Part, error)
	// More reports whether there may be another part.
	More() bool
	Close() error
}

// Part is consecutive records. They can be read several times, by one goroutine at a time.
type Part interface {
	// Records calls yield for every record in turn until the first error, which it returns, and returns
	// the number of lines. Lines count on from those before.
	Records(ctx context.Context, before int, yield func(r *Record) error) (lines int, err error)
	// Turn says that it is the turn of the part, behind so many lines.
	Turn(before int)
	// Ahead reports whether the part can be read before it is its turn; else it is read once, by then.
	Ahead() bool
	// Share returns about what share of all text ends with the part, 0 where that is not known.
	Share() float64
}

// share is what is made of one part, ahead of its turn.
type share interface {
	// begin forgets the part before. Parts begin in their order.
	begin()
	add(rec *Record) error
}

// worked is a part and what was made of it.
type worked struct {
	part  Part
	share share
	lines int
	err   error // the share is of no use: the part is to be read in its turn
	end   error // what Next has returned, instead of a part
}

// inTurn reads r and calls take for every part in the order of the records, with what share has made of it,
// nil where that went wrong, and the number of lines before it. Take returns that of the part.
func inTurn(ctx context.Context, r Parted, share func() share, take func(w *worked, before int) (lines int, err error)) error {
	ps, before, err := r.Parts(ctx)
	if err != nil {
		return err
	}
	defer ps.Close()
	t := turn{reader: r, parts: ps, share: share, before: before, take: take}
	workers := runtime.GOMAXPROCS(0)
	for w := (&worked{}); ; {
		if ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if t.next(w); w.end == nil {
			w.work(ctx)
		}
		if err := t.done(w); err != nil || w.end != nil {
			return err
		}
		if ps.More() && workers > 1 {
			return t.run(ctx, w, workers)
		}
	}
}

// turn is one reading.
type turn struct {
	reader     Parted
	sync.Mutex // of parts and number
	parts      Parts
	number     int // of the next part
	share      func() share
	before     int // lines
	take       func(w *worked, before int) (lines int, err error)
}

// next cuts off a part.
func (t *turn) next(w *worked) {
	if w.part, w.end = t.parts.Next(w.part); w.end != nil {
		return
	}
	if w.share == nil {
		w.share = t.share()
	}
	w.share.begin()
}

// work makes the share of a part.
func (w *worked) work(ctx context.Context) {
	if w.err = errTurn; w.part.Ahead() {
		w.lines, w.err = w.part.Records(ctx, 0, w.share.add)
	}
}

// errTurn is a part that cannot be read before it is its turn.
var errTurn error = notYet{}

type notYet struct{}

func (notYet) Error() string { return "not before its turn" }

// done takes a part whose turn it is, or the end.
func (t *turn) done(w *worked) error {
	if w.end == io.EOF {
		return t.reader.Same()
	}
	if w.end != nil {
		return w.end
	}
	w.part.Turn(t.before)
	lines, err := t.take(w, t.before)
	t.before += lines
	return err
}

// run reads with several workers, in whose turns the caller takes what they have made.
func (t *turn) run(ctx context.Context, spare *worked, workers int) error {
	ctx, cancel := context.WithCancel(ctx)
	slots := workers + 2
	free := make(chan *worked, slots)
	made := make([]chan *worked, slots) // by the number of the part
	for k := range made {
		made[k] = make(chan *worked, 1)
		free <- spare
		spare = &worked{}
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
		var w *worked
		select {
		case w = <-made[number%slots]:
		case <-ctx.Done():
			return ctxerr.Check(ctx)
		}
		if err := t.done(w); err != nil || w.end != nil {
			return err
		}
		free <- w
	}
}

// worker makes the share of one part, and reports whether there may be another.
func (t *turn) worker(ctx context.Context, free <-chan *worked, made []chan *worked) bool {
	var w *worked
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
