package auto

import "sync"

// pace is the measured time of some work and its estimated flops.
type pace struct{ seconds, flops float64 }

// anyWork is the kind of all unmeasured work.
const anyWork = ""

// paces contains the measured time per flop of each kind of work.
type paces struct {
	mu       sync.Mutex
	pace     map[string]pace
	lastFits map[string]pace // last fit to all rows of each kind
}

// fitOf returns the kind of the final fits of a recipe.
func fitOf(k recipe) string { return "fit " + kindOf(k) }

// kindOf returns the kind of the trials of a recipe: its map and its model. Representation learning
// is a kind of its own.
func kindOf(k recipe) string { return k.mapping.name + " " + k.head.name }

// trialPace returns the time per flop of the trials of a recipe.
func (r *paces) trialPace(k recipe) float64 {
	pace := r.paceOf(kindOf(k))
	if _, known := r.paceKnown(kindOf(k)); !known && k.steps > 0 && !k.sparse() {
		pace *= float64(k.steps)
	}
	return pace
}

// paceOf returns the seconds per estimated flop of a kind of work, or those of matrix products if
// the kind has not been measured.
func (r *paces) paceOf(kind string) float64 {
	own, ok := r.paceKnown(kind)
	if !ok {
		own, _ = r.paceKnown(anyWork)
	}
	return own
}

func (r *paces) paceKnown(kind string) (float64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, ok := r.pace[kind]
	return own.seconds / own.flops, ok
}

// notePace adds a measurement. Earlier measurements have exponentially decreasing weights.
func (r *paces) notePace(kind string, flops, took float64) {
	if flops <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.pace[kind]
	r.pace[kind] = pace{own.seconds/2 + max(took, 0), own.flops/2 + flops}
}

// noteFit adds the measurement of a fit to all rows.
func (r *paces) noteFit(k recipe, flops, took float64) {
	r.notePace(fitOf(k), flops, took)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastFits[kindOf(k)] = pace{took, flops}
}

// lastFit returns the last fit to all rows of the kind of a recipe, zero if there is none.
func (r *paces) lastFit(k recipe) pace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastFits[kindOf(k)]
}

// noteSpeed adds a measurement of the flops per second of matrix products. Only the maximum counts,
// because other fits may run concurrently.
func (r *paces) noteSpeed(speed float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if speed > r.pace[anyWork].flops {
		r.pace[anyWork] = pace{unmeasuredFraction, speed}
	}
}
