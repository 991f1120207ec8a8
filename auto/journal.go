package auto

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

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// journal is a file of lines of JSON: a header that says which search it is of, and an entry for each
// trial, written when the trial has ended. A killed process tears at most the last line.
type journal struct {
	file  *os.File // nil for none
	known map[string]note
}

const (
	journalKind    = "bochner auto"
	journalVersion = 2
	mostJournal    = 4 << 30 // bytes that are read
)

// head of a journal. The sums are of what makes a difference to scores.
type journalHead struct {
	Journal string `json:"journal"`
	Version int    `json:"version"`
	Data    string `json:"data"`
	Options string `json:"options"`
}

// note is a trial that has ended.
type note struct {
	Trial  string      `json:"trial"`
	Scored []noteScore `json:"scored"`
}

// noteScore is a candidate of it. Missing scores are null, and predictions the bytes of 32-bit floats.
type noteScore struct {
	Folds   []*float64 `json:"folds,omitempty"`
	Mean    *float64   `json:"mean,omitempty"`
	Std     *float64   `json:"std,omitempty"`
	Seconds float64    `json:"seconds,omitempty"`
	Failed  string     `json:"failed,omitempty"`
	Outputs int        `json:"outputs,omitempty"`
	Said    []byte     `json:"said,omitempty"`
}

// ErrOtherSearch is in the chain of the error where a journal is of another search.
var ErrOtherSearch = errors.New("the journal is of another search")

// openJournal reads what is in the journal of a search, and leaves it ready for the next entry.
func openJournal(path string, head journalHead) (*journal, error) {
	j := &journal{known: map[string]note{}}
	if path == "" {
		return j, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := j.resume(file, head); err != nil {
		file.Close()
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	j.file = file
	return j, nil
}

func (j *journal) resume(file *os.File, head journalHead) error {
	content, err := io.ReadAll(io.LimitReader(file, mostJournal))
	if err != nil {
		return err
	}
	first, err := json.Marshal(head)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	if whole == 0 {
		if !bytes.HasPrefix(first, content) {
			return fmt.Errorf("%w; remove the file or give another", ErrOtherSearch)
		}
		if err := rewind(file, 0); err != nil {
			return err
		}
		_, err := file.Write(append(first, '\n'))
		return err
	}
	lines := bytes.Split(content[:whole-1], []byte{'\n'})
	if !bytes.Equal(lines[0], first) {
		return fmt.Errorf("%w: of other rows, or with other options; remove the file or give another", ErrOtherSearch)
	}
	for i, line := range lines[1:] {
		var n note
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&n); err != nil {
			return fmt.Errorf("line %d is damaged: %w; remove the file to start anew", i+2, err)
		}
		j.known[n.Trial] = n
	}
	return rewind(file, int64(whole))
}

func rewind(file *os.File, size int64) error {
	if err := file.Truncate(size); err != nil {
		return err
	}
	_, err := file.Seek(size, io.SeekStart)
	return err
}

// find returns what a trial found, if it is in the journal.
func (j *journal) find(key string, points, folds int) (out []scored, ok bool) {
	n, ok := j.known[key]
	if !ok || len(n.Scored) != points {
		return nil, false
	}
	out = make([]scored, points)
	for i, c := range n.Scored {
		if len(c.Folds) != folds || len(c.Said)%4 != 0 || c.Outputs > 0 && len(c.Said)/4%c.Outputs != 0 {
			return nil, false
		}
		out[i] = scored{mean: orNaN(c.Mean), std: orNaN(c.Std), seconds: c.Seconds, failed: c.Failed, outputs: c.Outputs}
		for _, v := range c.Folds {
			out[i].folds = append(out[i].folds, orNaN(v))
		}
		for at := 0; at < len(c.Said); at += 4 {
			out[i].said = append(out[i].said, math.Float32frombits(binary.LittleEndian.Uint32(c.Said[at:])))
		}
	}
	return out, true
}

// note writes what a trial found.
func (j *journal) note(key string, out []scored) error {
	if j.file == nil {
		return nil
	}
	n := note{Trial: key}
	for _, s := range out {
		c := noteScore{Mean: finite(s.mean), Std: finite(s.std), Seconds: s.seconds, Failed: s.failed, Outputs: s.outputs}
		for _, v := range s.folds {
			c.Folds = append(c.Folds, finite(v))
		}
		for _, v := range s.said {
			c.Said = binary.LittleEndian.AppendUint32(c.Said, math.Float32bits(v))
		}
		n.Scored = append(n.Scored, c)
	}
	line, err := json.Marshal(n)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.file.Name(), err)
	}
	return nil
}

func (j *journal) close() error {
	if j == nil || j.file == nil {
		return nil
	}
	return j.file.Close()
}

// finite returns a pointer to a number, nil where it is none.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// trialKey tells a trial from others of the same search.
func trialKey(rows int, list []pipeline.Pipeline) string {
	h := sha256.New()
	fmt.Fprintln(h, rows)
	for _, p := range list {
		describe(h, p.Steps, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// describe writes all that makes a difference to what a pipeline learns.
func describe(w io.Writer, steps []pipeline.Step, spec any) {
	for _, s := range steps {
		fmt.Fprintf(w, "%T %s\n", s.Fitter, s.Path())
		if c, ok := s.Fitter.(pipeline.Composite); ok {
			describe(w, c.Children(), nil)
		}
		if g, ok := s.Fitter.(pipeline.Group); ok {
			fmt.Fprintf(w, "%q\n", g.Select)
		}
	}
	if spec == nil {
		return
	}
	for _, p := range param.All(spec) {
		fmt.Fprintf(w, "%s=%#v\n", p.Path, p.Value)
	}
}

// headOf describes a search.
func (r *run) headOf() journalHead {
	head := journalHead{Journal: journalKind, Version: journalVersion}
	head.Data = sum(func(h hash.Hash) {
		fmt.Fprintf(h, "%#v\n", r.data.Schema)
		hashRows(h, r.data)
	})
	head.Options = sum(func(h hash.Hash) {
		fmt.Fprintf(h, "%s %d %v\n", r.metric.Name, r.options.Seed, r.options.Timed)
		describe(h, r.options.Clean, pipeline.Chain{Steps: r.options.Clean})
		for _, k := range r.table {
			fmt.Fprintln(h, k)
		}
	})
	return head
}

func hashRows(h hash.Hash, data datasets.Set) {
	n, d := data.X.Dims()
	fmt.Fprintf(h, "%T %d %d\n", data.X, n, d)
	row := make([]float64, d)
	type spread interface {
		Row(i int) (columns []uint32, values []float64)
		Shared() (float64, bool)
	}
	rows, isSpread := data.X.(spread)
	for i := range n {
		if isSpread {
			columns, values := rows.Row(i)
			binary.Write(h, binary.LittleEndian, columns)
			hashNumbers(h, values)
			continue
		}
		for j := range row {
			row[j] = data.X.At(i, j)
		}
		hashNumbers(h, row)
	}
	if isSpread {
		shared, ok := rows.Shared()
		fmt.Fprintln(h, shared, ok)
	}
	hashNumbers(h, data.Y)
	hashNumbers(h, data.Weights)
	fmt.Fprintln(h, data.Groups)
}

func hashNumbers(h hash.Hash, list []float64) {
	buffer := binary.LittleEndian.AppendUint64(make([]byte, 0, 8*len(list)+8), uint64(len(list)))
	for _, v := range list {
		buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
	}
	h.Write(buffer)
}

// sum is the hash of what write writes.
func sum(write func(h hash.Hash)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
