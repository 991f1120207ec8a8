package experiment

// Progress is called as a run goes on, from one goroutine at a time, with the phase it is in
// ("load", "search", "refit", "evaluate", "write") and how much of it is done. Total is 0 where it
// is not known.
type Progress func(phase string, done, total int)

// Options are what a run may be given beside its spec. The zero value is silent.
type Options struct {
	Progress Progress // nil for none
	Force    bool     // whether [Run] replaces the results of another run in output.dir
	Drop     []string // columns of the rows to leave out; for [Evaluate], [Predict] and [PredictFile]
}

func (o Options) report(phase string, done, total int) {
	if o.Progress != nil {
		o.Progress(phase, done, total)
	}
}
