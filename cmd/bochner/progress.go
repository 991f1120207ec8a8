package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/bochner-ml/bochner/experiment"
)

// progress draws how a run goes on: a bar on a terminal, a line now and then elsewhere, nothing
// when it is to be quiet. The function returned ends it.
func (s *session) progress() (experiment.Progress, func()) {
	if s.quiet {
		return nil, func() {}
	}
	if file, ok := s.err.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		b := &bars{out: s.err}
		return b.draw, b.clear
	}
	l := &lines{out: s.err, now: time.Now}
	return l.print, func() {}
}

// bars draws one bar after the other, each gone when its phase is.
type bars struct {
	out   io.Writer
	phase string
	total int
	bar   *progressbar.ProgressBar
}

func (b *bars) draw(phase string, done, total int) {
	if phase != b.phase || total != b.total {
		b.clear()
		b.phase, b.total = phase, total
		limit := total
		if limit == 0 {
			limit = -1 // a spinner
		}
		b.bar = progressbar.NewOptions(limit,
			progressbar.OptionSetWriter(b.out),
			progressbar.OptionSetDescription(fmt.Sprintf("%-8s", phase)),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionSetSpinnerChangeInterval(0), // or a bar goes on when its phase is over
			progressbar.OptionClearOnFinish(),
		)
	}
	b.bar.Set(done)
}

func (b *bars) clear() {
	if b.bar != nil {
		b.bar.Clear()
	}
}

// lines prints the start of each phase, and how far it is when a tenth more is done and five
// seconds have gone.
type lines struct {
	out   io.Writer
	now   func() time.Time
	phase string
	last  time.Time
	tenth int
}

func (l *lines) print(phase string, done, total int) {
	if phase != l.phase {
		l.phase, l.last, l.tenth = phase, l.now(), 0
		fmt.Fprintln(l.out, phase)
		return
	}
	if total == 0 || l.now().Sub(l.last) < 5*time.Second || done*10/total <= l.tenth {
		return
	}
	l.last, l.tenth = l.now(), done*10/total
	fmt.Fprintf(l.out, "%s %d/%d\n", phase, done, total)
}
