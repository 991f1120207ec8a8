package gridsearch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/param"
)

// journal is a file of lines of JSON: a header that tells which search it is of, then an entry for
// each fit, in the order in which they ended. Every line is written at once, so that a killed
// process tears at most the last one, and flushed to the disk about once a second.
type journal struct {
	file   *os.File
	synced time.Time
}

const (
	journalKind    = "bochner grid search"
	journalVersion = 1
)

// header tells a search from others. The sums are of everything that makes a difference to scores.
type header struct {
	Journal    string `json:"journal"`
	Version    int    `json:"version"`
	Estimator  string `json:"estimator"`
	Grid       string `json:"grid"`
	Scores     string `json:"scores"`
	Folds      string `json:"folds"`
	Data       string `json:"data"`
	Candidates int    `json:"candidates"`
	Fits       int    `json:"fits"`
}

// entry is a fit that has ended, or the names of what a batch has shared. A missing score is null;
// the others are written so that they read back bit for bit.
type entry struct {
	Candidate   *int       `json:"candidate,omitempty"`
	Fold        *int       `json:"fold,omitempty"`
	Scores      []*float64 `json:"scores,omitempty"`
	Seconds     float64    `json:"seconds,omitempty"`
	Failed      string     `json:"failed,omitempty"`
	Unconverged bool       `json:"unconverged,omitempty"`
	Shared      []string   `json:"shared,omitempty"`
}

func entryOf(candidate, fold int, o outcome) entry {
	e := entry{Candidate: &candidate, Fold: &fold, Seconds: o.seconds, Failed: o.failed, Unconverged: o.unconverged}
	e.Scores = make([]*float64, len(o.scores))
	for i := range o.scores {
		if finite(o.scores[i]) {
			e.Scores[i] = &o.scores[i]
		}
	}
	return e
}

// openJournal opens the search's journal for writing, a new one where there is none, and takes the
// outcomes in it into r.
func openJournal(r *run) (*journal, error) {
	path := r.search.Journal
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &journal{file: file, synced: time.Now()}
	if err := j.resume(r); err != nil {
		file.Close()
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, nil
}

// resume reads the file, drops a torn last line, and leaves the file ready for the next entry.
func (j *journal) resume(r *run) error {
	content, err := readJournal(j.file)
	if err != nil {
		return err
	}
	ours := r.header()
	first, err := json.Marshal(ours)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	if whole == 0 { // nothing, or a header torn as it was written
		if !bytes.HasPrefix(first, content) {
			return errForeign
		}
		if err := j.truncate(0); err != nil {
			return err
		}
		return j.line(first)
	}
	lines := bytes.Split(content[:whole-1], []byte{'\n'})
	if err := ours.matches(lines[0]); err != nil {
		return err
	}
	for i, line := range lines[1:] {
		if err := r.replay(line); err != nil {
			return fmt.Errorf("line %d is damaged: %w; remove the file to start anew", i+2, err)
		}
	}
	return j.truncate(int64(whole))
}

// readJournal reads the file, unless its first line is longer than any header: such a file is not
// read on, for it may be of any size.
func readJournal(file io.Reader) ([]byte, error) {
	content := make([]byte, 4096)
	n, err := io.ReadFull(file, content)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return content[:n], nil
	case err != nil:
		return nil, err
	case bytes.IndexByte(content, '\n') < 0:
		return nil, errForeign
	}
	rest, err := io.ReadAll(file)
	return append(content, rest...), err
}

var errForeign = errors.New("this is not the journal of a search; give another path")

func (j *journal) truncate(size int64) error {
	if err := j.file.Truncate(size); err != nil {
		return err
	}
	_, err := j.file.Seek(size, io.SeekStart)
	return err
}

// matches reports in what the journal's search differs from this one.
func (h header) matches(line []byte) error {
	var theirs header
	if err := json.Unmarshal(line, &theirs); err != nil || theirs.Journal != journalKind {
		return errForeign
	}
	if theirs.Version != journalVersion {
		return fmt.Errorf("it has version %d of the format, wanted %d; remove it to start anew", theirs.Version, journalVersion)
	}
	var differ []string
	for _, part := range []struct{ name, ours, theirs string }{
		{"estimator", h.Estimator, theirs.Estimator},
		{"grid", h.Grid, theirs.Grid},
		{"scores", h.Scores, theirs.Scores},
		{"folds", h.Folds, theirs.Folds},
		{"data", h.Data, theirs.Data},
	} {
		if part.ours != part.theirs {
			differ = append(differ, part.name)
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("it is of another search, which differs in %s; remove it to start anew, or give another path", strings.Join(differ, ", "))
	}
	return nil
}

// replay takes an entry into the outcomes.
func (r *run) replay(line []byte) error {
	var e entry
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return err
	}
	if e.Candidate == nil && e.Fold == nil {
		r.share(e.Shared)
		r.swept = true
		return nil
	}
	switch {
	case e.Candidate == nil || e.Fold == nil,
		*e.Candidate < 0 || *e.Candidate >= len(r.candidates),
		*e.Fold < 0 || *e.Fold >= len(r.folds),
		len(e.Scores) != len(r.scorer.metrics):
		return errors.New("it is of no fit of this search")
	}
	out := outcome{done: true, seconds: e.Seconds, failed: e.Failed, unconverged: e.Unconverged}
	for _, v := range e.Scores {
		if v == nil {
			nan := math.NaN()
			v = &nan
		}
		out.scores = append(out.scores, *v)
	}
	if math.IsNaN(out.scores[0]) != (out.failed != "") {
		return errors.New("a fit has either a score or a failure")
	}
	at := &r.outcomes[*e.Candidate][*e.Fold]
	if !at.done {
		r.done++
	}
	*at = out
	return nil
}

// write appends an entry.
func (j *journal) write(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		err = j.line(line)
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.file.Name(), err)
	}
	return nil
}

func (j *journal) line(text []byte) error {
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return err
	}
	if time.Since(j.synced) < time.Second {
		return nil
	}
	j.synced = time.Now()
	return j.file.Sync()
}

// close flushes the file to the disk.
func (j *journal) close() error {
	return errors.Join(j.file.Sync(), j.file.Close())
}

// header describes r. A spec is known by its type, those of its parts, and the parameters it declares;
// the values of an axis are left out of it, for the grid has them.
func (r *run) header() header {
	h := header{Journal: journalKind, Version: journalVersion, Candidates: len(r.candidates), Fits: r.total()}
	h.Estimator = sum(func(w hash.Hash) {
		identify(w, reflect.ValueOf(r.candidates[0].spec))
		for _, p := range param.All(r.candidates[0].spec) {
			fmt.Fprintf(w, "%s\n", p.Path)
			if !r.search.searched(p.Path) {
				fmt.Fprintf(w, "%#v\n", p.Value)
			}
		}
	})
	h.Grid = sum(func(w hash.Hash) {
		for _, c := range r.candidates {
			fmt.Fprintf(w, "%#v\n", c.settings)
		}
	})
	h.Scores = sum(func(w hash.Hash) {
		for _, m := range r.scorer.metrics {
			fmt.Fprintf(w, "%s\n", m.Name)
		}
	})
	h.Folds = sum(func(w hash.Hash) {
		for _, f := range r.folds {
			numbers(w, f.Train)
			numbers(w, f.Test)
		}
	})
	h.Data = sum(r.hashData)
	return h
}

// identify writes the types of a spec and of all its parts, with their packages' whole paths, and
// their texts, such as which columns a group selects. The numbers are parameters.
func identify(w io.Writer, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	fmt.Fprintf(w, "%s %s\n", v.Type().PkgPath(), v.Type())
	switch v.Kind() {
	case reflect.String:
		fmt.Fprintf(w, "%q\n", v.String())
	case reflect.Slice, reflect.Array:
		fmt.Fprintln(w, v.Len())
		for i := range v.Len() {
			identify(w, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			identify(w, v.Field(i))
		}
	case reflect.Interface:
		identify(w, v.Elem())
	case reflect.Pointer:
		if _, spec := reflect.Zero(v.Type()).Interface().(param.Declarer); spec {
			identify(w, v.Elem())
		}
	}
}

func (s Search) searched(path string) bool {
	for _, a := range s.Grid {
		if a.Path == path {
			return true
		}
	}
	return false
}

func (r *run) hashData(w hash.Hash) {
	fmt.Fprintf(w, "%#v\n", r.data.Schema)
	hashMatrix(w, r.data.X)
	numbers(w, r.data.Y)
	if r.data.Targets != nil {
		hashMatrix(w, r.data.Targets)
	}
	numbers(w, r.data.Weights)
	numbers(w, r.data.Groups)
}

func hashMatrix(w hash.Hash, X mat.Matrix) {
	n, d := X.Dims()
	fmt.Fprintf(w, "%T %d %d\n", X, n, d)
	if m, ok := X.(interface{ Shared() (float64, bool) }); ok {
		value, shared := m.Shared()
		fmt.Fprintln(w, value, shared)
	}
	switch m := X.(type) {
	case mat.RawRowViewer:
		for i := range n {
			numbers(w, m.RawRowView(i))
		}
	case interface {
		Row(i int) (columns []uint32, values []float64)
	}:
		for i := range n {
			columns, values := m.Row(i)
			numbers(w, columns)
			numbers(w, values)
		}
	default:
		row := make([]float64, d)
		for i := range n {
			for j := range row {
				row[j] = X.At(i, j)
			}
			numbers(w, row)
		}
	}
}

// numbers hashes a list, its length first.
func numbers[T int | uint32 | float64](w hash.Hash, list []T) {
	const step = 4096
	buffer := binary.LittleEndian.AppendUint64(make([]byte, 0, 8*step+8), uint64(len(list)))
	for _, v := range list {
		switch v := any(v).(type) {
		case int:
			buffer = binary.LittleEndian.AppendUint64(buffer, uint64(v))
		case uint32:
			buffer = binary.LittleEndian.AppendUint32(buffer, v)
		case float64:
			buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
		}
		if len(buffer) >= 8*step {
			w.Write(buffer)
			buffer = buffer[:0]
		}
	}
	w.Write(buffer)
}

// sum is the hash of what write writes.
func sum(write func(w hash.Hash)) string {
	w := sha256.New()
	write(w)
	return hex.EncodeToString(w.Sum(nil)[:16])
}
