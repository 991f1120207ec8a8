package experiment

import (
	"sync"
	"time"

	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/runtime/memory"
)

// SearchProgress is the state of a running search.
type SearchProgress struct {
	Fits, Of   int     // completed and total
	Candidates int     // scored on every fold
	Metric     string  // metric of the search
	Best       float64 // mean score of the best candidate, NaN before the first
	Folds      int     // number of folds in Best
	Settings   string  // of the best candidate: "rff.gamma=0.1 ridge.alpha=1"
	Rate       float64 // candidates per second, 0 before the first
	Memory     int64   // peak memory in bytes, 0 if unknown

	Elapsed time.Duration
	// Left is the estimated remaining time of the search or of its current round; negative before
	// the first fit.
	Left time.Duration
}

// watch converts the progress of a search to [SearchProgress] values, at fits and at clock ticks.
type watch struct {
	mu      sync.Mutex
	report  func(SearchProgress)
	now     func() time.Time
	began   time.Time
	round   time.Time
	resumed int // fits and candidates done before the start of the round
	scored  int
	last    SearchProgress
	at      time.Time // of the last fit
}

// newWatch returns a watch for a callback.
func newWatch(report func(SearchProgress), now func() time.Time) *watch {
	w := &watch{report: report, now: now, began: now(), resumed: -1}
	w.round = w.began
	return w
}

// see records a progress update of the search.
func (w *watch) see(p gridsearch.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.last
	if next := p.Done < s.Fits; next || w.resumed < 0 {
		w.resumed, w.scored = p.Done, p.Scored
		if next {
			w.round = w.now()
		}
	}
	s.Fits, s.Of, s.Candidates, s.Metric, s.Folds, s.Best, s.Settings = p.Done, p.Total, p.Scored, p.Metric, p.Folds,
		p.Best, p.Settings
	w.at = w.now()
	w.printf()
}

// tick updates the elapsed time between fits.
func (w *watch) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.resumed >= 0 && w.last.Fits < w.last.Of {
		w.printf()
	}
}

// printf calls the callback with the current state.
func (w *watch) printf() {
	s, now := w.last, w.now()
	s.Elapsed, s.Memory = now.Sub(w.began), memory.Peak()
	done, all := float64(s.Fits-w.resumed), float64(s.Of-w.resumed)
	upTo := w.at.Sub(w.round).Seconds()
	if scored := s.Candidates - w.scored; scored > 0 && upTo > 0 {
		s.Rate = float64(scored) / upTo
	}
	s.Left = -1
	if done > 0 && all > 0 {
		left := upTo*all/done - now.Sub(w.round).Seconds()
		s.Left = max(0, time.Duration(left*float64(time.Second)))
	}
	w.report(s)
}

// run ticks until the returned function is called.
func (w *watch) run() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(250 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				w.tick()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
