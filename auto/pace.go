package auto

import "sync"

// pace is the ratio of measured time to estimated work of a kind of work.
type pace struct{ seconds, flops float64 }

// everything is the kind of work of which nothing else is known.
const everything = ""

// paces are how long work has taken by its kind.
type paces struct {
	mu        sync.Mutex
	pace      map[string]pace
	fitBefore map[string]pace // of the last fit to all rows of a kind
}

// fitOf is the kind of the last fits of a recipe.
func fitOf(k recipe) string { return "fit " + kindOf(k) }

// kindOf is what a pace is known for: the map and the model. What learns has a pace of its own, by its name.
func kindOf(k recipe) string { return k.mapping.name + " " + k.head.name }

// trialPace is that of trials of a recipe.
func (r *paces) trialPace(k recipe) float64 {
	pace := r.paceOf(kindOf(k))
	if _, known := r.paceKnown(kindOf(k)); !known && k.steps > 0 && !k.sparse() {
		pace *= float64(k.steps)
	}
	return pace
}

// paceOf is how many seconds a kind of work takes for a flop of its estimated cost; of a kind that was not tried
// yet what products of matrices take.
func (r *paces) paceOf(kind string) float64 {
	own, ok := r.paceKnown(kind)
	if !ok {
		own, _ = r.paceKnown(everything)
	}
	return own
}

func (r *paces) paceKnown(kind string) (float64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, ok := r.pace[kind]
	return own.seconds / own.flops, ok
}

// notePace takes in how long a piece of work took. What was long ago counts less.
func (r *paces) notePace(kind string, flops, took float64) {
	if flops <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.pace[kind]
	r.pace[kind] = pace{own.seconds/2 + max(took, 0), own.flops/2 + flops}
}

// noteFit takes in how long a fit to all rows took.
func (r *paces) noteFit(k recipe, flops, took float64) {
	r.notePace(fitOf(k), flops, took)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fitBefore[kindOf(k)] = pace{took, flops}
}

// lastFit is what the last fit to all rows of a recipe's kind took, 0 where there was none.
func (r *paces) lastFit(k recipe) pace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fitBefore[kindOf(k)]
}

// noteSpeed takes in how many flops of products of matrices take a second: the most so far, for
// others may be at work as well.
func (r *paces) noteSpeed(speed float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if speed > r.pace[everything].flops {
		r.pace[everything] = pace{optimism, speed}
	}
}
