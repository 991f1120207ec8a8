package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/bochner-ml/bochner/experiment"
)

// progress shows the progress of a run: a bar on a terminal, occasional lines elsewhere, nothing if
// quiet. A search on a terminal has its own line with the best candidate so far. The returned
// function ends it.
func (s *session) progress() (experiment.Progress, func(experiment.SearchProgress), func()) {
	if s.quiet {
		return nil, nil, func() {}
	}
	if file, ok := s.err.(*terminal); ok {
		b := &bars{out: file.File, bold: os.Getenv("NO_COLOR") == "", width: func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80
			}
			return width
		}}
		s.clear = b.clear
		return b.draw, b.search, b.clear
	}
	l := &lines{out: s.err, now: time.Now}
	return l.print, l.search, func() {}
}

// bars draws one bar after the other, each gone when its phase is.
type bars struct {
	out   io.Writer
	bold  bool       // whether the best candidate so far is emphasized
	width func() int // of the terminal
	mu    sync.Mutex
	phase string
	total int
	bar   *progressbar.ProgressBar
	live  bool      // whether the line of a search is shown
	last  time.Time // when it was drawn
}

func (b *bars) draw(phase string, done, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live && phase == "search" {
		return // which has more detail
	}
	b.wipe()
	if phase != b.phase || total != b.total {
		b.end()
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
			progressbar.OptionSetSpinnerChangeInterval(0), // otherwise the bar continues after its phase
			progressbar.OptionClearOnFinish(),
		)
	}
	b.bar.Set(done)
}

// search draws the line of a search: progress, best candidate, remaining time.
func (b *bars) search(s experiment.SearchProgress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.Fits == s.Of || b.live && time.Since(b.last) < 100*time.Millisecond {
		return
	}
	b.end()
	b.live, b.last = true, time.Now()
	words := searchWords(s)
	const blocks = 20
	full := blocks * s.Fits / max(s.Of, 1)
	line := escapeInvisible(fmt.Sprintf("search %s%s %s", strings.Repeat("█", full), strings.Repeat("░", blocks-full),
		strings.Join(words, " · ")))
	if runes := []rune(line); len(runes) >= b.width() {
		line = string(runes[:max(0, b.width()-2)]) + "…"
	}
	if best := escapeInvisible(formatBest(s)); b.bold && best != "" {
		line = strings.Replace(line, best, "\x1b[1m"+best+"\x1b[0m", 1)
	}
	fmt.Fprint(b.out, "\r\x1b[K"+line)
}

// wipe erases the line of a search.
func (b *bars) wipe() {
	if b.live {
		fmt.Fprint(b.out, "\r\x1b[K")
		b.live = false
	}
}

// clear erases the progress display.
func (b *bars) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	b.end()
}

// end erases the bar.
func (b *bars) end() {
	if b.bar != nil {
		b.bar.Clear()
		b.bar, b.phase = nil, ""
	}
}

// formatBest describes the best candidate so far.
func formatBest(s experiment.SearchProgress) string {
	if s.Settings == "" {
		return ""
	}
	return fmt.Sprintf("best %s %s on %d folds", s.Metric, formatScore(s.Best), s.Folds)
}

// searchWords returns the parts of the progress line of a search, the most important first.
func searchWords(s experiment.SearchProgress) []string {
	words := []string{fmt.Sprintf("%d/%d fits", s.Fits, s.Of)}
	if best := formatBest(s); best != "" {
		words = append(words, best)
	}
	if s.Left >= 0 {
		words = append(words, duration(s.Left.Seconds())+" left")
	}
	if s.Settings != "" && s.Settings != "the estimator as it is" {
		words = append(words, s.Settings)
	}
	if s.Rate > 0 {
		words = append(words, fmt.Sprintf("%.2g candidates/s", s.Rate))
	}
	if s.Memory > 0 {
		words = append(words, bytesText(s.Memory))
	}
	return words
}

// lines prints the start of each phase, and how far it is when a tenth more is done and five
// seconds have gone.
type lines struct {
	out   io.Writer
	now   func() time.Time
	mu    sync.Mutex
	phase string
	last  time.Time
	tenth int
	words string // of a search
}

// search stores the progress of a search for the next line.
func (l *lines) search(s experiment.SearchProgress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words = ""
	if words := searchWords(s); len(words) > 1 {
		l.words = ", " + strings.Join(words[1:min(len(words), 4)], ", ")
	}
}

func (l *lines) print(phase string, done, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if phase != l.phase {
		l.phase, l.last, l.tenth = phase, l.now(), 0
		fmt.Fprintln(l.out, phase)
		return
	}
	if total == 0 || l.now().Sub(l.last) < 5*time.Second || done*10/total <= l.tenth {
		return
	}
	l.last, l.tenth = l.now(), done*10/total
	words := ""
	if phase == "search" {
		words = l.words
	}
	fmt.Fprintf(l.out, "%s %d/%d%s\n", phase, done, total, words)
}
