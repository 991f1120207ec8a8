package serve

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

// watchedFiles reloads files when they change.
type watchedFiles struct {
	name      string // kind of the files' content, for messages
	paths     []string
	read      func() error // loads the files; on an error the previous content remains
	infos     []fs.FileInfo
	lastError string // last logged error
}

// readIfChanged loads the files if they have changed.
func (r *watchedFiles) readIfChanged() (changed bool, err error) {
	infos := make([]fs.FileInfo, len(r.paths))
	same := r.infos != nil
	for k, path := range r.paths {
		if infos[k], err = os.Stat(path); err == nil && !infos[k].Mode().IsRegular() {
			err = fmt.Errorf("%s: must be a regular file", path)
		}
		if err != nil {
			return true, fmt.Errorf("serve: cannot read the %s: %w", r.name, err)
		}
		same = same && sameFile(infos[k], r.infos[k])
	}
	if same {
		return false, nil
	}
	if err := r.read(); err != nil {
		return true, fmt.Errorf("serve: cannot read the %s: %w", r.name, err)
	}
	r.infos = infos
	return true, nil
}

// reload loads the files if they have changed and logs the result. Repeated errors are logged once.
func (r *watchedFiles) reload(log *slog.Logger) {
	if len(r.paths) == 0 {
		return
	}
	changed, err := r.readIfChanged()
	switch {
	case err != nil && err.Error() != r.lastError:
		r.lastError = err.Error()
		log.Error(r.name+": cannot reload; the previous one is still used", "error", err)
	case err == nil && changed:
		r.lastError = ""
		log.Info(r.name+" reloaded", "file", r.paths[0])
	}
}

// sameFile reports whether two states of a file have the same identity, size and modification time.
func sameFile(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
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
