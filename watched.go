package bochner

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// watchInterval is the minimum time between two checks for a changed file.
const watchInterval = time.Second

// Watched is the model of a file that another program may replace, such as a nightly fit. It is safe for concurrent
// use, needs no goroutine and is not closed.
type Watched struct {
	model   atomic.Pointer[modelfile.Model]
	mu      sync.Mutex // held by a check
	file    files.Watched
	checked time.Time
	err     error
}

// OpenWatched is [Open] for a program that runs while the file changes, such as a server:
//
//	rents, err := bochner.OpenWatched("rents.bochner")
//	answer, err := rents.Model().PredictRow(ctx, flat)
//
// Replace the file by renaming, as [modelfile.Model.Save] and the command do.
func OpenWatched(path string) (*Watched, error) {
	path, err := files.Model(path)
	if err != nil {
		return nil, fmt.Errorf("bochner: %w", err)
	}
	w := &Watched{file: files.Watched{Paths: []string{path}}}
	if w.reload(); w.err != nil {
		return nil, w.err
	}
	return w, nil
}

// reload loads the file if it has changed. The caller holds w.mu.
func (w *Watched) reload() {
	if time.Since(w.checked) < watchInterval {
		return
	}
	_, w.err = w.file.Reload(func() error {
		m, err := modelfile.Load(w.file.Paths[0])
		if err == nil {
			w.model.Store(m)
		}
		return err
	})
	w.checked = time.Now()
}

// Model returns the model. The first call more than a second after the last check looks whether the file has changed,
// and loads it; concurrent calls return the previous model meanwhile. So does every call while the file is missing or
// invalid, see [Watched.Err]. A request should call Model once, so that it uses one model.
func (w *Watched) Model() *modelfile.Model {
	if w.mu.TryLock() {
		w.reload()
		w.mu.Unlock()
	}
	return w.model.Load()
}

// Err returns the error of the last load, nil if Model returns the content of the file. It checks the file as Model
// does. A health endpoint reports it.
func (w *Watched) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reload(); w.err != nil {
		return fmt.Errorf("bochner: cannot reload the model; the previous one is used: %w", w.err)
	}
	return nil
}
