package serve

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// MaxPage is how many bytes of a body a handler that is mounted may read of a request.
const MaxPage = 256 << 10

// Mount lets a handler answer at / and below /ui/, as package serve/ui does. Its requests are logged, counted and bounded
// in number as all are; whether they have the token it asks [Server.Authorized] itself. It is for before the server answers.
func (s *Server) Mount(h http.Handler) { s.pages = h }

// pagesOf says which page a path asks for: "" or one below ui.
func pagesOf(path string) asked {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "ui"), "/"), "/")
	return asked{route: "ui", name: name, answer: (*call).page, open: true, pages: true}
}

// page answers by the handler that is mounted.
func (c *call) page() error {
	if c.pages == nil {
		c.asked.route = "none"
		return noRoute.answer(c)
	}
	if (*c.models.seen.Load())[c.asked.name] != nil {
		c.found = c.asked.name
	}
	if err := c.gate.come(); err != nil {
		return err
	}
	defer c.gate.gone()
	if c.r.Method == http.MethodPost {
		if err := c.room.take(2 * MaxPage); err != nil { // the body, and what is read of it
			return err
		}
		c.r.Body = http.MaxBytesReader(c.w, c.r.Body, MaxPage)
	}
	w := &watched{ResponseWriter: c.w, code: http.StatusOK}
	c.pages.ServeHTTP(w, c.r)
	c.code = w.code
	return nil
}

// Snapshot is a version of a model as it is loaded now. A file that is loaded later leaves it as it is.
type Snapshot struct {
	server *Server
	loaded *loaded
}

// Snapshot returns a version of a model, "" for the latest, or an [Error].
func (s *Server) Snapshot(name, version string) (Snapshot, error) {
	m, err := s.find(name, version)
	return Snapshot{s, m}, err
}

// Name returns what the model is called here.
func (s Snapshot) Name() string { return s.loaded.name }

// Version returns which version it is.
func (s Snapshot) Version() string { return s.loaded.version }

// Loaded returns when it was loaded.
func (s Snapshot) Loaded() time.Time { return s.loaded.at }

// Model returns the model, which is read only.
func (s Snapshot) Model() *modelfile.Model { return s.loaded.model }

// Classes returns the names of the classes, nil where there are none.
func (s Snapshot) Classes() []string { return s.loaded.classes }

// Width returns how many columns the rows have.
func (s Snapshot) Width() int { return s.loaded.width }

// Field is something that people can tell of a row: a column, or a date that becomes several.
type Field struct {
	Name    string
	Columns []int          // that it becomes, by number
	Kind    datasets.Kind  // of the column
	Levels  []string       // of a categorical one
	Date    *datasets.Date // nil for none
	Wanted  string         // how a date is written

	at int
}

// Fields returns what there is to tell of a row, in the order of the columns. A date that the experiment has named stands
// for the columns that it becomes.
func (s Snapshot) Fields() (out []Field) {
	m := s.loaded
	dates := make(map[int]int)
	for k := range m.fields {
		if m.fields[k].use == date && m.fields[k].named {
			for _, j := range m.fields[k].parts {
				dates[j] = k
			}
		}
	}
	for j := range m.width {
		k, of := dates[j]
		switch {
		case !of:
			c := m.model.Schema.Column(j)
			out = append(out, Field{Name: m.fields[j].name, Columns: []int{j}, Kind: c.Kind, Levels: c.Levels, at: j})
		case m.fields[k].parts[0] == j:
			f := &m.fields[k]
			out = append(out, Field{Name: f.name, Columns: f.parts, Date: &f.date, Wanted: f.wantedDate(), at: k})
		}
	}
	return out
}

// Code puts what a text stands for into the columns of a row, as in a request for a prediction: nothing is a missing
// value, and a category that training did not have is [datasets.Unknown]. For a text that is none it returns what was wanted.
func (s Snapshot) Code(row []float64, f Field, text string) (wanted string) {
	m := s.loaded
	k := &m.fields[f.at]
	if k.use == date {
		if !m.dateOf(k, []byte(text), row) {
			return f.Wanted
		}
		return ""
	}
	v, wanted := m.ofText(k, []byte(text))
	row[k.at] = v
	return wanted
}

// Predict returns what the model says of rows, one behind the other, when it is their turn, within the limits of the
// server. What goes wrong is an [Error].
func (s Snapshot) Predict(ctx context.Context, rows []float64) (estimator.Prediction, error) {
	n := len(rows) / max(s.loaded.width, 1)
	said, err := s.predict(ctx, rows, n)
	if err != nil {
		return said, s.server.turnedAway(err)
	}
	s.server.metrics.rows.WithLabelValues(s.loaded.name).Add(float64(n))
	return said, nil
}

func (s Snapshot) predict(ctx context.Context, rows []float64, n int) (said estimator.Prediction, err error) {
	if n > s.server.options.Limits.Rows {
		return said, refuse(TooLarge, "more than %d rows, which is the server's limit", s.server.options.Limits.Rows)
	}
	ctx, leave, err := s.server.turn(ctx)
	if err != nil {
		return said, err
	}
	defer leave()
	room := share{gate: s.server.gate}
	defer room.free()
	if err := room.take(8*int64(len(rows)) + int64(n)*s.loaded.answerBytes()); err != nil {
		return said, err
	}
	return s.loaded.predict(ctx, rows, n, leave)
}
