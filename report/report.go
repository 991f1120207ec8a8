// Package report shows what a run found as one page of HTML, which needs no network and no script, is readable on a
// phone and on paper, and speaks to those who listen to it.
//
//	found, err := experiment.Run(ctx, spec, experiment.Options{}) // writes report.html into the run's folder
//	page, err := report.New(found)                                 // the same page as a value
//	_, err = page.WriteTo(w)
//
// The page says in this order what was asked and what came out, the scores beside those of simple models, what was taken
// for what or how far off predictions are, whether probabilities hold, which inputs matter and how, what the search
// tried, what more rows or features would bring, what the data are, and the pipeline. What a run has not is left out.
// [Pictures] are its pictures one by one, for a notebook.
package report

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
)

// New returns the page of a run. The same result gives the same bytes.
func New(r result.Result) (Page, error) { return render(pageOf(r)) }

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
