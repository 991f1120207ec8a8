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
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/internal/protocol"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// policy forbids browsers what pages do not need: scripts, and content of other hosts.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// page is the data of the template.
type page struct {
	Title  string
	Style  template.CSS
	Home   string // link to the list of models; "" on it
	Fault  string // error of the request as a whole
	Listed []listed
	List   bool
	Model  *shown
}

// listed is a model in the list.
type listed struct {
	Name, Href, Task, Version, Loaded, Status string
}

// shown is a model on its page.
type shown struct {
	Lead     []string
	Versions []link
	Note     string // why there is no form
	Form     *form
	Result   *result
}

// send writes the page.
func (p page) send(w http.ResponseWriter, code int) {
	p.Style = template.CSS(style)
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		panic(fmt.Sprintf("ui: %v", err)) // an error of the template, which the server logs
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer") // an address may have a row in it
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(code)
	w.Write(b.Bytes()) // an error has no reader
}

// list sets the list of models.
func (p *page) list(status []serve.ModelStatus) {
	p.Home, p.List = "", true
	for _, m := range status {
		one := listed{Name: m.Name, Task: m.Task, Version: m.Version, Status: "ready"}
		for _, v := range m.Versions {
			if v.Version == m.Version {
				one.Loaded = readable(v.Loaded)
			}
			if v.Error != "" {
				one.Status = "version " + v.Version + ": " + v.Error
				if v.Ready {
					one.Status += "; the one before is served"
				}
			}
		}
		if m.Ready {
			one.Href = "./" + url.PathEscape(m.Name)
		}
		p.Listed = append(p.Listed, one)
	}
}

// readable returns a time of the JSON answers in another format.
func readable(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// lead describes what a model predicts.
func lead(m *serve.Model) []string {
	text := upper(string(m.File.Task))
	if m.File.Task == datasets.Anomaly {
		text = "Detection of anomalies"
	}
	var names []string
	for _, t := range m.File.Schema.Targets {
		names = append(names, t.Name)
	}
	if len(names) > 0 && !m.File.Task.Unsupervised() {
		text += " of " + strings.Join(names, ", ")
	}
	return []string{text + ".", fmt.Sprintf("Version %s, loaded %s.", m.Version, m.LoadedAt.UTC().Format("2006-01-02 15:04:05 UTC"))}
}

// others returns links to the loaded versions of a model, if there are several. Version is the one in the address.
func others(versions []string, m *serve.Model, version string) (out []link) {
	if len(versions) < 2 {
		return nil
	}
	for _, v := range versions {
		href := "./" + url.PathEscape(v)
		if version == "" {
			href = "./" + url.PathEscape(m.Name) + "/" + url.PathEscape(v)
		}
		if v == m.Version {
			href = "" // this one
		}
		out = append(out, link{v, href})
	}
	return out
}

// fill sets the form, and the result if a row was sent. The error is one of the request as a whole.
func (p *shown) fill(ctx context.Context, s *serve.Server, m *serve.Model, given url.Values) error {
	fields := m.Encoding.Inputs()
	if len(fields) > maxFields {
		p.Note = fmt.Sprintf("The model has %s inputs. There is a form for models of up to %d; programs can ask for predictions of this one.", count(float64(len(fields))), maxFields)
		return nil
	}
	p.Form = newForm(m, fields)
	if len(given) == 0 {
		p.Form.finish()
		return nil
	}
	row, typical := p.Form.read(m, given)
	if len(p.Form.Faults)+len(p.Form.Other) > 0 {
		p.Form.finish()
		return invalid(p.Form)
	}
	var err error
	p.Result, err = predict(ctx, s, m, p.Form, row, typical)
	var at *datasets.RowError
	switch {
	case errors.As(err, &at) && at.Column != "":
		p.Form.blame(at.Column, at.Err.Error())
		err = invalid(p.Form)
	case at != nil:
		err = &serve.Error{Code: protocol.InvalidArgument, Message: "The model does not take these values: " + at.Err.Error()}
	}
	p.Form.finish()
	return err
}
