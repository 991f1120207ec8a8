package experiment

import (
	"math"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/memory"
)

// Searching says how far a search is.
type Searching struct {
	Fits, Of   int     // done, and in all
	Candidates int     // scored on every fold
	Metric     string  // that decides
	Best       float64 // its mean for the best of those scored on the most folds, NaN before the first
	Folds      int     // that this is the mean over
	Settings   string  // of the best: "rff.gamma=0.1 ridge.alpha=1"
	Rate       float64 // candidates scored in a second, 0 before the first
	Shared     []string
	Memory     int64 // most bytes so far, 0 where the system does not tell

	Elapsed time.Duration
	// Left is how long the search goes on, as far as can be told from what is done and, before there is much, from what the
	// plan says; negative where nothing tells.
	Left time.Duration
}

// watch turns the progress of a search into what can be said of it. A clock tells it the time.
type watch struct {
	mu       sync.Mutex
	tell     func(Searching)
	now      func() time.Time
	began    time.Time
	expected float64 // seconds that the plan says, 0 where it does not
	rounds   bool    // whether there are several, of which the plan has all
	round    time.Time
	resumed  int // fits and candidates that were there at the beginning of the round
	scored   int
	last     Searching
	at       time.Time // of the last fit
}

// newWatch begins to watch.
func newWatch(tell func(Searching), plan gridsearch.Plan, rounds bool, now func() time.Time) *watch {
	w := &watch{tell: tell, now: now, began: now(), rounds: rounds, resumed: -1}
	w.round = w.began
	if w.expected = plan.Seconds; plan.SharedFlops == 0 && plan.OneByOne > 0 {
		w.expected = plan.OneByOne
	}
	w.last.Shared = plan.Shared
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
	planned := w.expected
	if !w.rounds {
		planned *= all / float64(max(s.Of, 1))
	}
	whole, elapsed := planned, now.Sub(w.round).Seconds()
	if done > 0 && all > 0 {
		whole = upTo * all / done
		if trust := min(1, 2*done/all); planned > 0 && !w.rounds {
			// Half of the fits say more than any plan. Before that both count, as a weighted geometric mean of the whole
			// time: fits that share work come in bursts, and the first wait for what all share.
			whole = math.Pow(whole, trust) * math.Pow(planned, 1-trust)
		}
	}
	s.Left = -1
	if whole > 0 {
		s.Left = max(0, time.Duration((whole-elapsed)*float64(time.Second)))
	}
	if w.rounds && planned > 0 { // the rounds to come are in the plan alone
		s.Left = max(s.Left, time.Duration(planned*float64(time.Second))-s.Elapsed)
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
