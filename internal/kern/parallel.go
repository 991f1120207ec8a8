package kern

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// busyWorkers counts the running workers of the process, without the callers.
var busyWorkers atomic.Int64

// Parallel calls f once for each of the chunks [0, grain), [grain, 2·grain), … of [0, n) and waits
// for all. Chunks depend on n and grain alone; their order is unspecified. The caller works too.
// Other workers come from one pool of GOMAXPROCS−1 per process, so that nested calls do not
// oversubscribe the CPU: a call that gets no worker runs in its own goroutine. A panic of f is
// re-raised in the caller.
func Parallel(n, grain int, f func(lo, hi int)) {
	if grain < 1 {
		panic("kern: Parallel with a grain below 1")
	}
	if n <= grain {
		if n > 0 {
			f(0, n)
		}
		return
	}
	chunks := (n + grain - 1) / grain
	helpers := acquireWorkers(chunks - 1)
	if helpers == 0 {
		for lo := 0; lo < n; lo += grain {
			f(lo, min(lo+grain, n))
		}
		return
	}
	g := parallelCalls.Get().(*parallelCall)
	g.n, g.grain, g.f, g.failed = n, grain, f, nil
	g.next.Store(0)
	g.Add(helpers)
	for range helpers {
		go g.help()
	}
	g.work()
	g.Wait()
	failed := g.failed
	g.f, g.failed = nil, nil
	parallelCalls.Put(g)
	if failed != nil {
		panic(failed)
	}
}

// acquireWorkers acquires up to want workers from the pool.
func acquireWorkers(want int) int {
	maxWorkers := int64(runtime.GOMAXPROCS(0) - 1)
	for {
		busy := busyWorkers.Load()
		take := min(int64(want), maxWorkers-busy)
		if take <= 0 {
			return 0
		}
		if busyWorkers.CompareAndSwap(busy, busy+take) {
			return int(take)
		}
	}
}

// parallelCall is the state of one Parallel call.
type parallelCall struct {
	sync.WaitGroup
	next     atomic.Int64
	n, grain int
	f        func(lo, hi int)
	mu       sync.Mutex
	failed   any
}

var parallelCalls = sync.Pool{New: func() any { return new(parallelCall) }}

func (g *parallelCall) help() {
	defer g.Done()
	defer busyWorkers.Add(-1)
	g.work()
}

// work runs chunks until none is left. A panic cancels the remaining chunks.
func (g *parallelCall) work() {
	defer func() {
		if r := recover(); r != nil {
			g.mu.Lock()
			g.failed = r
			g.mu.Unlock()
			g.next.Store(int64(g.n))
		}
	}()
	for {
		lo := int(g.next.Add(int64(g.grain))) - g.grain
		if lo >= g.n {
			return
		}
		g.f(lo, min(lo+g.grain, g.n))
	}
}

// scratch is pooled memory, aligned to a cache line or a huge page.
type scratch struct{ words []float64 }

// pools[k] holds scratch of 2ᵏ words.
var pools [48]sync.Pool

// borrow returns scratch of at least n elements with undefined contents. The caller must release
// it.
func borrow[T Float](n int) (*scratch, []T) {
	size := int(unsafe.Sizeof(T(0)))
	words := (n*size + 7) / 8
	class := bits.Len(uint(max(words, 64) - 1))
	s, _ := pools[class].Get().(*scratch)
	if s == nil {
		s = newScratch(1 << class)
	}
	return s, unsafe.Slice((*T)(unsafe.Pointer(&s.words[0])), n)
}

// hugePage is the usual size of huge pages.
const hugePage = 2 << 20

func newScratch(words int) *scratch {
	align, whole := 64, words
	if 8*words >= hugePage {
		align, whole = hugePage, roundUp(words, hugePage/8) // the last page is a huge one too
	}
	raw := make([]float64, whole+align/8)
	skip := (align - int(uintptr(unsafe.Pointer(&raw[0]))%uintptr(align))) % align / 8
	if align == hugePage {
		hugePages(unsafe.Slice((*byte)(unsafe.Pointer(&raw[skip])), 8*whole))
	}
	return &scratch{raw[skip : skip+words]}
}

// MakeLarge returns n zeros, backed by huge pages if n is large, which speeds up repeated reads.
func MakeLarge[T Float](n int) []T {
	s := newScratch((n*int(unsafe.Sizeof(T(0))) + 7) / 8)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s.words))), n)
}

func (s *scratch) release() {
	pools[bits.Len(uint(len(s.words)-1))].Put(s)
}

// is64 reports whether T is float64; the compiler folds it.
func is64[T Float]() bool { return unsafe.Sizeof(T(0)) == 8 }

// as64 and as32 reinterpret a slice whose element type is known.
func as64[T Float](x []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func as32[T Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
