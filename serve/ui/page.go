package ui

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/serve"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// policy is a Content-Security-Policy that forbids scripts and external resources.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// page is the data of the template.
type page struct {
	Title    string
	Style    template.CSS
	Home     string // link to the list of models; "" on that page
	Error    string // error of the request
	Models   []modelRow
	ShowList bool
	Model    *modelPage
}

// modelRow is a row of the list of models.
type modelRow struct {
	Name, Href, Task, Version, Loaded, Status string
}

// modelPage is the page of a model.
type modelPage struct {
	Lead     []string
	Versions []link
	Note     string // reason for a missing form
	Form     *form
	Result   *result
}

// send writes the page.
func (p page) send(w http.ResponseWriter, code int) {
	p.Style = template.CSS(style)
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		panic(fmt.Sprintf("ui: %v", err)) // a bug in the template; the server logs it
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer") // the URL may contain a row
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(code)
	w.Write(b.Bytes()) // the client is gone if this fails
}

// list fills the list of models.
func (p *page) list(server *serve.Server) {
	p.Home, p.ShowList = "", true
	for _, m := range server.Status() {
		one := modelRow{Name: m.Name, Task: m.Task, Version: m.Version, Status: "ready"}
		for _, v := range m.Versions {
			if v.Version == m.Version {
				one.Loaded = displayTime(v.Loaded)
			}
			if v.Error != "" {
				one.Status = "version " + v.Version + ": " + v.Error
				if v.Ready {
					one.Status += "; the previous model is served"
				}
			}
		}
		if m.Ready {
			one.Href = "./" + url.PathEscape(m.Name)
		}
		p.Models = append(p.Models, one)
	}
}

// displayTime formats an RFC 3339 time for display.
func displayTime(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// describeTask describes the task, the targets and the version of a model.
func describeTask(m *serve.Model) []string {
	text := capitalize(string(m.File.Task))
	if m.File.Task == datasets.Anomaly {
		text = "Anomaly detection"
	}
	var names []string
	for _, t := range m.File.Schema.Targets {
		names = append(names, t.Name)
	}
	if len(names) > 0 && !m.File.Task.Unsupervised() {
		text += " of " + strings.Join(names, ", ")
	}
	return []string{text + ".", fmt.Sprintf("Version %s, loaded %s.", m.Version,
		m.LoadedAt.UTC().Format("2006-01-02 15:04:05 UTC"))}
}

// versionLinks returns links to the loaded versions of a model if there are several. Version is the
// one in the URL.
func versionLinks(versions []string, m *serve.Model, version string) (out []link) {
	if len(versions) < 2 {
		return nil
	}
	for _, v := range versions {
		href := "./" + url.PathEscape(v)
		if version == "" {
			href = "./" + url.PathEscape(m.Name) + "/" + url.PathEscape(v)
		}
		if v == m.Version {
			href = "" // current page
		}
		out = append(out, link{v, href})
	}
	return out
}

// fill sets the form, and the result if the request contains a row.
func (p *modelPage) fill(ctx context.Context, s *serve.Server, m *serve.Model, given url.Values) error {
	fields := m.Encoding.Inputs()
	if len(fields) > maxFields {
		p.Note = fmt.Sprintf("The model has %s inputs; forms are limited to %d inputs. Use the HTTP interface.",
			count(float64(len(fields))), maxFields)
		return nil
	}
	p.Form = newForm(m, fields)
	if len(given) == 0 {
		p.Form.finish()
		return nil
	}
	row, typical := p.Form.read(m, given)
	if len(p.Form.Errors)+len(p.Form.OtherErrors) > 0 {
		p.Form.finish()
		return invalidForm(p.Form)
	}
	var err error
	p.Result, err = predict(ctx, s, m, p.Form, row, typical)
	var at *datasets.RowError
	switch {
	case errors.As(err, &at) && at.Column != "":
		p.Form.setColumnError(at.Column, at.Err.Error())
		err = invalidForm(p.Form)
	case at != nil:
		err = &serve.Error{Code: protocol.InvalidArgument, Message: "The model rejects these values: " + at.Err.Error()}
	}
	p.Form.finish()
	return err
}
