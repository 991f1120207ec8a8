// Package report shows what a run found as one page of HTML, which needs no network and no script, is readable on a
// phone and on paper, and speaks to those who listen to it.
//
//	found, err := experiment.Run(ctx, spec, experiment.Options{}) // writes report.html into the run's folder
//	err = report.Write(w, found)                                   // the same page anywhere
//
// The page says in this order what was asked and what came out, the scores beside those of simple models, what was taken
// for what or how far off predictions are, whether probabilities hold, which inputs matter and how, what the search
// tried, what more rows or features would bring, what the data are, and the pipeline. What a run has not is left out.
// [Pictures] are its pictures one by one, for a notebook.
package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/experiment/result"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// page is what the template is filled with.
type page struct {
	Title    string
	Style    template.CSS
	Lead     []string
	Warnings []string
	Sections []section
	Foot     string
}

// section is a part of the page under one heading.
type section struct {
	ID, Title string
	Text      []string
	Figures   []figure
	Tables    []table
	Folded    []folded
	Source    []link // where its numbers are
}

// figure is a picture. A wide one has the whole width, and is scrolled where that is not enough.
type figure struct {
	Title string
	Drawn template.HTML
	Wide  bool
}

// table is rows of cells, of which the first names the row.
type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// folded is a long text that is opened by who wants it.
type folded struct{ Title, Text string }

// link leads to a file beside the page.
type link struct{ Name, Href string }

// Write writes the page of a run. The same result gives the same bytes.
func Write(w io.Writer, r result.Result) error {
	text, err := render(pageOf(r))
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func render(p page) ([]byte, error) {
	p.Style = template.CSS(style)
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

// Page is a report as a value that a notebook shows by itself.
type Page struct{ text string }

// New returns the page of a run.
func New(r result.Result) (Page, error) {
	text, err := render(pageOf(r))
	return Page{string(text)}, err
}

// String is the whole document.
func (p Page) String() string { return p.text }

// HTML is the page in a frame of its own, whose style and that of the notebook leave each other alone.
func (p Page) HTML() string {
	return `<iframe title="report" style="width:100%;height:48rem;border:1px solid #ccc" srcdoc="` + html.EscapeString(p.text) + `"></iframe>`
}

// Picture is one of the pictures of a report.
type Picture struct {
	Section, Title string
	drawn          string
}

// SVG returns the picture, which a notebook shows by itself.
func (p Picture) SVG() string { return p.drawn }

// Pictures returns the pictures of a run's report in their order.
func Pictures(r result.Result) (out []Picture) {
	for _, s := range sections(r) {
		for _, f := range s.Figures {
			out = append(out, Picture{Section: s.Title, Title: f.Title, drawn: string(f.Drawn)})
		}
	}
	return out
}

// pageOf says what stands on the page.
func pageOf(r result.Result) page {
	p := page{Title: r.Name, Lead: lead(r), Warnings: r.Warnings, Sections: sections(r)}
	if p.Title == "" {
		p.Title = "a run"
	}
	p.Foot = fmt.Sprintf("made by bochner %s, %s; seed %d; %s in all", r.Versions.Bochner, r.Versions.Go, r.Seed, seconds(r.Seconds.Total))
	if r.Memory > 0 {
		p.Foot += fmt.Sprintf(", at most %.0f MiB of memory", float64(r.Memory)/(1<<20))
	}
	return p
}

// sections are all parts that a run has something for.
func sections(r result.Result) (out []section) {
	for _, one := range []func(result.Result) section{scores, classes, errors, probabilities, found, inputs, search, curves, data, model} {
		s := one(r)
		if len(s.Text)+len(s.Figures)+len(s.Tables) > 0 {
			s.ID = strings.ReplaceAll(strings.ToLower(s.Title), " ", "-")
			out = append(out, s)
		}
	}
	return out
}

// in is where numbers are in result.json.
func in(paths ...string) (out []link) {
	for _, p := range paths {
		out = append(out, link{"result.json: " + p, "result.json#/" + p})
	}
	return out
}
