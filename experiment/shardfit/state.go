package shardfit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/internal/distributed"
	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/pipeline"
)

// State is the result of some shards of a pass or, between two passes, the input of the next one.
type State struct {
	spec   config.Spec
	values config.Values
	text   []byte // of the spec

	pass   int    // 0 infers the columns
	shards int    // number of shards; 0 between two passes
	done   []int  // included shards, ascending
	own    bool   // shards have their own files (--data)
	from   string // digest of the input of the pass; "" for none

	again  []string       // columns to treat as categorical
	pieces []piece        // inspected pieces: in pass 0 of the included shards, later all
	all    dataload.Piece // common schema, after pass 0
	tree   *distributed.Tree
	begun  datasets.Pass // initial state of the next pass
	tried  []byte        // journal of a search
	seen   string        // profile of the rows, once computed
}

// piece is an inspected file or the rows of a shard.
type piece struct {
	index int
	name  string
	bytes int64 // file size; 0 if unknown
	dataload.Piece
}

// newState returns a state without shards.
func newState(spec config.Spec) (*State, error) {
	text, err := spec.Encode("spec.yaml")
	if err != nil {
		return nil, err
	}
	s := &State{spec: spec, text: text}
	s.values, err = config.ValuesOf("spec.yaml", text)
	return s, err
}

// Pass returns the number of the pass; 0 infers the columns.
func (s *State) Pass() int { return s.pass }

// Between reports whether the state is the input of the next pass.
func (s *State) Between() bool { return s.shards == 0 }

// Missing returns the shards that are not included.
func (s *State) Missing() (out []int) {
	for i := range s.shards {
		if _, found := slices.BinarySearch(s.done, i); !found {
			out = append(out, i)
		}
	}
	return out
}

// start returns the initial state of the first pass.
func (s *State) start(ctx context.Context) (datasets.Pass, error) {
	learned, err := s.learner().Start(ctx, s.schema(), s.all.Cols)
	if err != nil || s.seen != "" {
		return learned, err
	}
	return &profiledPass{learned, profile.Start(s.schema(), s.all.Cols)}, nil
}

// sizes returns the number of rows of each piece.
func (s *State) sizes() distributed.Pieces {
	out := make(distributed.Pieces, len(s.pieces))
	for k, p := range s.pieces {
		out[k] = p.Rows
	}
	return out
}

// learner returns the pipeline to fit.
func (s *State) learner() pipeline.Pipeline { return s.spec.Pipeline }

// schema returns the schema of the training rows.
func (s *State) schema() datasets.Schema {
	if s.spec.Task().Unsupervised() {
		return datasets.Set{Schema: s.all.Schema}.WithoutTargets().Schema
	}
	return s.all.Schema
}

const kind = "a job's state"

// versions returns the program version for the header of a file.
func versions() map[string]string { return map[string]string{"bochner": experiment.Version().Bochner} }

// Write writes the state in the format of model files. Equal states give equal bytes.
func (s *State) Write(w io.Writer) error {
	a, err := model.Record(s)
	if err != nil {
		return fmt.Errorf("shardfit: %w", err)
	}
	return archive.Write(w, archive.Header{Name: s.spec.Name, Task: kind, Spec: string(s.text), Versions: versions()}, a)
}

// Digest returns the SHA-256 sum of the output of Write.
func (s *State) Digest() (string, error) {
	h := sha256.New()
	if err := s.Write(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// errOtherVersion reports a state of another program version. All steps of a fit must use the same
// version.
var errOtherVersion = errors.New("the state is of another version of bochner")

// damaged is a [model.ErrDamaged] of a state file, with the reason.
type damaged string

func (e damaged) Error() string {
	return "the file is damaged or not a state of a sharded fit: " + string(e)
}

func (damaged) Unwrap() error { return model.ErrDamaged }

// Read reads a state of the given size in bytes. Errors wrap [model.ErrDamaged], except for a model or a state of
// another version.
func Read(r io.ReaderAt, size int64) (*State, error) {
	header, a, err := archive.Read(r, size)
	switch {
	case errors.Is(err, model.ErrDamaged):
		_, why, _ := strings.Cut(err.Error(), model.ErrDamaged.Error()+": ")
		return nil, damaged(why)
	case err != nil:
		return nil, err
	case header.Task != kind:
		return nil, errors.New("shardfit: must be a state of a sharded fit, got a model: the fit is complete")
	}
	if by, own := header.Versions["bochner"], versions()["bochner"]; by != own {
		return nil, fmt.Errorf("shardfit: %w: must be %[3]s, got %[2]s; restart the fit or use that version", errOtherVersion,
			cmp.Or(by, "an earlier one"), own)
	}
	d := config.Decode("spec.yaml", []byte(header.Spec))
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("shardfit: %w: %w", model.ErrDamaged, err)
	}
	s := &State{spec: d.Spec, text: []byte(header.Spec)}
	if s.values, err = config.ValuesOf("spec.yaml", s.text); err == nil {
		err = model.Restore(a, s)
	}
	if err != nil {
		return nil, fmt.Errorf("shardfit: %w: %w", model.ErrDamaged, err)
	}
	return s, nil
}

// State serializes the state.
func (s *State) State(m *model.State) {
	m.Int("pass", &s.pass)
	m.Int("shards", &s.shards)
	m.Ints("done", &s.done)
	m.Bool("own", &s.own)
	m.String("from", &s.from)
	m.String("seen", &s.seen)
	m.Strings("again", &s.again)
	tried := string(s.tried)
	m.String("tried", &tried)
	s.tried = []byte(tried)
	m.Require(s.pass >= 0 && s.shards >= 0 && s.shards <= config.MaxShards && ascending(s.done, s.shards),
		"the numbers of the pass and of its shards do not fit")
	s.statePieces(m)
	if m.Err() != nil {
		return
	}
	if s.pass == 0 {
		return
	}
	statePiece(m.Child("all"), &s.all)
	if m.Restoring() && m.Err() == nil {
		task := s.spec.Task()
		m.Require(s.all.Rows == s.sizes().Rows() && s.all.Cols > 0 &&
			(len(s.all.Schema.Columns) == 0 || len(s.all.Schema.Columns) == s.all.Cols),
			"the rows of the pieces and of all do not fit")
		m.Require(task.Unsupervised() || len(s.all.Schema.Targets) > 0, "there is no target")
	}
	if m.Err() != nil {
		return
	}
	if s.shards > 0 {
		if m.Restoring() {
			s.tree = distributed.New(s.sizes().Leaves(), s.start)
		}
		s.tree.State(m.Child("tree"))
		return
	}
	if m.Restoring() {
		var err error
		if s.begun, err = s.start(context.Background()); err != nil {
			m.Fail("%v", err)
			return
		}
	}
	s.begun.State(m.Child("begun"))
}

// ascending reports whether list is strictly ascending with values in [0, n).
func ascending(list []int, n int) bool {
	for k, i := range list {
		if i < 0 || i >= n || k > 0 && i <= list[k-1] {
			return false
		}
	}
	return true
}

func (s *State) statePieces(m *model.State) {
	n := len(s.pieces)
	m.Count("pieces", &n)
	if m.Err() != nil {
		return
	}
	if m.Restoring() {
		s.pieces = make([]piece, n)
	}
	for k := range s.pieces {
		p := &s.pieces[k]
		at := m.Child("piece" + strconv.Itoa(k))
		size := int(p.bytes)
		at.Int("index", &p.index)
		at.String("name", &p.name)
		at.Int("bytes", &size)
		p.bytes = int64(size)
		if s.pass > 0 {
			at.Int("rows", &p.Rows)
			at.Require(p.index == k && p.Rows >= 0, "a piece of no rows, or in a wrong order")
		} else {
			statePiece(at, &p.Piece)
			at.Require(k == 0 || p.index > s.pieces[k-1].index, "pieces in a wrong order")
		}
		if m.Err() != nil {
			return
		}
	}
}

func statePiece(m *model.State, p *dataload.Piece) {
	m.Int("rows", &p.Rows)
	m.Int("cols", &p.Cols)
	m.Strings("missing", &p.Schema.Missing)
	stateColumns(m.Child("columns"), &p.Schema.Columns)
	stateColumns(m.Child("targets"), &p.Schema.Targets)
	stateContent(m.Child("content"), &p.Content)
	m.Require(p.Rows >= 0 && p.Cols >= 0, "rows and columns are not negative")
}

func stateColumns(m *model.State, columns *[]datasets.Column) {
	names, levels, ends, kinds := []string{}, []string{}, []int{}, []int{}
	var formats, origins []string
	plain, encoded := true, false
	for _, c := range *columns {
		names, kinds = append(names, c.Name), append(kinds, int(c.Kind))
		formats, plain = append(formats, c.Format.String()), plain && c.Format == datasets.Format{}
		origins, encoded = append(origins, c.EncodedFrom), encoded || c.EncodedFrom != ""
		levels = append(levels, c.Categories...)
		ends = append(ends, len(levels))
	}
	m.Strings("names", &names)
	m.Ints("kinds", &kinds)
	m.Strings("levels", &levels)
	m.Ints("ends", &ends)
	if !m.Restoring() && !plain || m.Restoring() && m.Has("formats") {
		m.Strings("formats", &formats)
	} else {
		formats = make([]string, len(names))
	}
	if !m.Restoring() && encoded || m.Restoring() && m.Has("origins") {
		m.Strings("origins", &origins)
	} else {
		origins = make([]string, len(names))
	}
	if !m.Restoring() || m.Err() != nil {
		return
	}
	m.Require(len(kinds) == len(names) && len(ends) == len(names) &&
		len(formats) == len(names) && len(origins) == len(names) && (len(ends) == 0 || ends[len(ends)-1] == len(levels)),
		"names, kinds and levels of columns differ in number")
	*columns = nil
	from := 0
	for j := range names {
		if m.Err() != nil {
			return
		}
		kind := datasets.Kind(kinds[j])
		m.Require((kind >= datasets.Numeric && kind <= datasets.Text) && ends[j] >= from && ends[j] <= len(levels),
			"a column of no kind, or with no end of its levels")
		if m.Err() != nil {
			return
		}
		format, err := datasets.Format{}.Parse(formats[j])
		if m.Require(err == nil, "a column of no format"); m.Err() != nil {
			return
		}
		c := datasets.Column{Name: names[j], Kind: kind, Format: format, EncodedFrom: origins[j]}
		if kind == datasets.Categorical || format.HasCategories() {
			c.Categories = levels[from:ends[j]:ends[j]]
		}
		*columns, from = append(*columns, c), ends[j]
	}
}

func stateContent(m *model.State, content *[]datasets.ColumnContent) {
	n := len(*content)
	m.Count("columns", &n)
	var empty, missing []int
	var spots []string
	for j, c := range *content {
		if c.Empty {
			empty = append(empty, j)
		}
		if c.Missing != nil {
			missing = append(missing, j, c.Missing.Row, c.Missing.Line)
			spots = append(spots, c.Missing.File)
		}
	}
	m.Ints("empty", &empty)
	m.Ints("missing", &missing)
	m.Strings("files", &spots)
	if !m.Restoring() || m.Err() != nil {
		return
	}
	m.Require(ascending(empty, n) && len(missing) == 3*len(spots), "columns without values do not fit")
	if m.Err() != nil {
		return
	}
	*content = make([]datasets.ColumnContent, n)
	for _, j := range empty {
		(*content)[j].Empty = true
	}
	for k, file := range spots {
		j := missing[3*k]
		m.Require(j >= 0 && j < n, "a missing value in no column")
		if m.Err() != nil {
			return
		}
		(*content)[j].Missing = &datasets.Position{Row: missing[3*k+1], File: file, Line: missing[3*k+2]}
	}
}

// same returns an error if o is of another experiment, pass or sharding.
func (s *State) same(o *State) error {
	if d := s.values.Differences(o.values); len(d) > 0 {
		lines := make([]string, len(d))
		for k, one := range d {
			lines[k] = one.String()
		}
		return fmt.Errorf("the experiments differ: %s", strings.Join(lines[:min(len(lines), 5)], "; "))
	}
	switch {
	case o.pass != s.pass:
		return fmt.Errorf("must be of pass %[2]d, got pass %[1]d", o.pass, s.pass)
	case o.from != s.from:
		return errors.New("shards of one pass must use the same --from")
	case o.shards != s.shards:
		return fmt.Errorf("must be of a fit with %[2]d shards, got %[1]d", o.shards, s.shards)
	case o.own != s.own:
		return errors.New("--data must be given for all shards or for none")
	case s.pass > 0 && !slices.EqualFunc(s.pieces, o.pieces, func(a, b piece) bool { return a.Rows == b.Rows }):
		return errors.New("the rows differ")
	}
	return nil
}

// goOn initializes the state from the input of the pass.
func (s *State) goOn(from *State) error {
	if !from.Between() {
		return fmt.Errorf("shardfit: --from must be the output of finish, got the state of %s", shardsOf(from))
	}
	if d := s.values.Differences(from.values); len(d) > 0 {
		return fmt.Errorf("shardfit: --from is of a different experiment: %s", d[0])
	}
	var err error
	s.pass, s.pieces, s.all, s.seen, s.again, s.begun = from.pass, from.pieces, from.all, from.seen, from.again, from.begun
	if s.pass > 0 && s.own != from.own {
		return errors.New("shardfit: --data must be given in all passes or in none")
	}
	s.from, err = from.Digest()
	return err
}

// shardsOf formats the shards of a state.
func shardsOf(s *State) string {
	if len(s.done) == 1 {
		return fmt.Sprintf("shard %d of %d", s.done[0], s.shards)
	}
	return fmt.Sprintf("shards %s of %d", few(s.done), s.shards)
}

func few(list []int) string {
	const most = 12
	strs := make([]string, min(len(list), most))
	for k := range strs {
		strs[k] = fmt.Sprint(list[k])
	}
	if len(list) > most {
		return strings.Join(strs, ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	if len(strs) > 1 {
		return strings.Join(strs[:len(strs)-1], ", ") + " and " + strs[len(strs)-1]
	}
	return strings.Join(strs, "")
}

func are(missing []int, of int) string {
	if len(missing) == 1 {
		return fmt.Sprintf("shard %d of %d is missing", missing[0], of)
	}
	return fmt.Sprintf("shards %s of %d are missing", few(missing), of)
}
