package experiment

import (
	"sync"
	"time"

	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/memory"
)

// SearchProgress says how far a search is.
type SearchProgress struct {
	Fits, Of   int     // done, and in all
	Candidates int     // scored on every fold
	Metric     string  // that decides
	Best       float64 // its mean for the best of those scored on the most folds, NaN before the first
	Folds      int     // that this is the mean over
	Settings   string  // of the best: "rff.gamma=0.1 ridge.alpha=1"
	Rate       float64 // candidates scored in a second, 0 before the first
	Memory     int64   // most bytes so far, 0 where the system does not tell

	Elapsed time.Duration
	// Left is how long the search goes on, or its round of several, if the fits to come take as long as those that
	// are done; negative before the first.
	Left time.Duration
}

// watch turns the progress of a search into what can be said of it. A clock tells it the time.
type watch struct {
	mu      sync.Mutex
	tell    func(SearchProgress)
	now     func() time.Time
	began   time.Time
	round   time.Time
	resumed int // fits and candidates that were there at the beginning of the round
	scored  int
	last    SearchProgress
	at      time.Time // of the last fit
}

// newWatch begins to watch.
func newWatch(tell func(SearchProgress), now func() time.Time) *watch {
	w := &watch{tell: tell, now: now, began: now(), resumed: -1}
	w.round = w.began
	return w
}

// see takes in what the search says.
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
	s.Fits, s.Of, s.Candidates, s.Metric, s.Folds, s.Best, s.Settings = p.Done, p.Total, p.Scored, p.Metric, p.Folds, p.Best, p.Settings
	w.at = w.now()
	w.say()
}

// tick says how the time goes by between two fits.
func (w *watch) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.resumed >= 0 && w.last.Fits < w.last.Of {
		w.say()
	}
}

// say tells all there is to say now.
func (w *watch) say() {
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
	w.tell(s)
}

// run ticks until the function that it returns is called.
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
