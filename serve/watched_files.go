package serve

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// watchedFiles reloads files when they change.
type watchedFiles struct {
	files.Watched
	name      string       // kind of the files' content, for messages
	read      func() error // loads the files; on an error the previous content remains
	lastError string       // last logged error
}

// readIfChanged loads the files if they have changed.
func (r *watchedFiles) readIfChanged() (changed bool, err error) {
	if changed, err = r.Reload(r.read); err != nil {
		err = fmt.Errorf("serve: cannot read the %s: %w", r.name, err)
	}
	return changed, err
}

// reload loads the files if they have changed and logs the result. Repeated errors are logged once.
func (r *watchedFiles) reload(log *slog.Logger) {
	if len(r.Paths) == 0 {
		return
	}
	changed, err := r.readIfChanged()
	switch {
	case err != nil && err.Error() != r.lastError:
		r.lastError = err.Error()
		log.Error(r.name+": cannot reload; the previous one is still used", "error", err)
	case err == nil && changed:
		r.lastError = ""
		log.Info(r.name+" reloaded", "file", r.Paths[0])
	}
}

// runEvery calls f once per period until ctx is done.
func runEvery(ctx context.Context, period time.Duration, f func()) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}
