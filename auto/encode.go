package auto

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/rowblock"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Encodings of categories and text.
const (
	encodeTargets    = "targets"    // target_encode
	encodeCharacters = "characters" // tf-idf of characters in addition to that of words
	encodeColumns    = "columns"    // all categories, words and characters; ranks of numbers with long tails
)

// maxEncodedTargets is the number of classes up to which targets are encoded: each is a column of every input.
const maxEncodedTargets = 5

// encoded returns the steps with other encoders in place of each onehot, tfidf or standardize, also in composites.
func (r *sample) encoded(steps []pipeline.Step, encode string) []pipeline.Step {
	targets := transformer.NewTargetEncode()
	targets.Seed = r.seed("encode")
	reached := r.reachedBy(nil) // the columns that reach the step
	return replaced(steps, func(fitter transformer.Fitter) []pipeline.Step {
		tfidf, words := fitter.(transformer.TFIDF)
		words = words && tfidf.Analyzer == "word"
		switch fitter := fitter.(type) {
		case pipeline.Group: // its steps follow
			reached = r.reachedBy(fitter.Select)
		case transformer.Standardize:
			if encode == encodeColumns {
				return pipeline.Steps(r.scaledByTails(fitter, reached))
			}
		case transformer.OneHot:
			switch encode {
			case encodeTargets:
				return pipeline.Steps(targets, transformer.NewStandardize())
			case encodeColumns:
				return r.allCategories(reached)
			}
		case transformer.TFIDF:
			switch {
			case words && encode == encodeCharacters:
				return pipeline.Steps(pipeline.Union{Parts: []pipeline.Step{{Name: "words", Fitter: fitter},
					{Name: "characters", Fitter: ofCharacters(fitter, 5)}}})
			case words && encode == encodeColumns:
				return pipeline.Steps(r.termsByLength(fitter, reached))
			}
		}
		return nil
	})
}

// reachedBy reports which columns reach the steps of a group: those that it selects by name, or all.
func (r *sample) reachedBy(selected []string) func(name string) bool {
	byName := len(selected) > 0 &&
		!slices.ContainsFunc(selected, func(name string) bool { return r.data.Schema.Index(name) < 0 })
	return func(name string) bool { return !byName || slices.Contains(selected, name) }
}

// replaced returns the steps with some replaced by others, also in composites; nil keeps a step.
func replaced(steps []pipeline.Step, by func(transformer.Fitter) []pipeline.Step) (out []pipeline.Step) {
	for _, s := range steps {
		if others := by(s.Fitter); others != nil {
			out = append(out, others...)
			continue
		}
		if c, ok := s.Fitter.(pipeline.Composite); ok {
			s.Fitter = c.WithChildren(replaced(c.Children(), by))
		}
		out = append(out, s)
	}
	return out
}

// contains reports whether the steps contain one of type T, also in composites.
func contains[T transformer.Fitter](steps []pipeline.Step) (found bool) {
	replaced(steps, func(fitter transformer.Fitter) []pipeline.Step {
		_, ok := fitter.(T)
		found = found || ok
		return nil
	})
	return found
}

// ofCharacters returns the step for sequences of 2 to n characters within words.
func ofCharacters(words transformer.TFIDF, n int) transformer.TFIDF {
	words.Analyzer, words.MinN, words.MaxN, words.StopWords = "char_wb", 2, n, nil
	return words
}

// allCategories returns onehot of all categories, not of columns that are text too: terms tell how similar two names
// are.
func (r *sample) allCategories(reached func(name string) bool) []pipeline.Step {
	var names []string
	for j := range r.data.Cols() {
		c := r.data.Schema.Column(j)
		if reached(c.Name) && (c.Kind == datasets.Categorical || c.Format.Delimiter != "") {
			names = append(names, c.Name)
		}
	}
	all := pipeline.Steps(transformer.NewOneHot())
	if len(names) == 0 {
		return all
	}
	return pipeline.Steps(pipeline.NewColumns(pipeline.Group{Name: "categories", Select: names, Steps: all}))
}

// termsByLength returns the step with sequences of characters instead for columns of short texts, such as names.
func (r *sample) termsByLength(words transformer.TFIDF, reached func(name string) bool) transformer.Fitter {
	const long = 60 // mean length of a text
	texts := textrows.Of(r.data.X)
	return r.grouped(datasets.Text, reached, func(j int) bool {
		length := 0
		for i := range r.data.Rows() {
			text, _ := texts.Text(i, j)
			length += len(text)
		}
		return length > long*r.data.Rows()
	}, words, ofCharacters(words, 4))
}

// grouped returns a step for the columns of a kind that satisfy a condition and another one for the rest.
func (r *sample) grouped(
	kind datasets.Kind, reached func(name string) bool, condition func(j int) bool, step, other transformer.Fitter,
) transformer.Fitter {
	var names, others []string
	for j := range r.data.Cols() {
		switch {
		case !reached(r.data.Schema.Name(j)) || r.data.Schema.Column(j).Kind != kind || r.data.Schema.Column(j).Format.Delimiter != "":
		case condition(j):
			names = append(names, r.data.Schema.Name(j))
		default:
			others = append(others, r.data.Schema.Name(j))
		}
	}
	switch {
	case len(names) == 0:
		return other
	case len(others) == 0:
		return step
	}
	return pipeline.NewColumns(pipeline.Group{Name: "some", Select: names, Steps: pipeline.Steps(step)},
		pipeline.Group{Name: "others", Select: others, Steps: pipeline.Steps(other)})
}

// scaledByTails returns the step with quantile instead for numeric columns with values far from the others.
func (r *sample) scaledByTails(standardize transformer.Fitter, reached func(name string) bool) transformer.Fitter {
	const far = 6 // standard deviations
	return r.grouped(datasets.Numeric, reached, func(j int) bool {
		values := slices.DeleteFunc(mat.Col(nil, j, r.data.X), func(v float64) bool { return v-v != 0 })
		mean, deviation := stat.MeanStdDev(values, nil)
		return slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v-mean) > far*deviation })
	}, transformer.NewQuantile(), standardize)
}

// hashedTerms is the number of columns of text whose terms are hashed.
const hashedTerms = 1 << 10

// hashTerms replaces tf-idf in the preprocessing by hashed terms if a text column has no term in enough
// rows, which is an error of every fit. It reports whether it did.
func (r *run) hashTerms(ctx context.Context) bool {
	_, err := pipeline.Chain{Steps: r.options.Preprocessing}.Fit(ctx, r.data)
	hashed := replaced(r.options.Preprocessing, func(fitter transformer.Fitter) []pipeline.Step {
		terms, ok := fitter.(transformer.TFIDF)
		if !ok {
			return nil
		}
		terms.Hashing, terms.MinCount, terms.MaxFeatures = hashedTerms, 1, 0
		return pipeline.Steps(terms)
	})
	if _, wrong := (pipeline.Chain{Steps: hashed}).Fit(ctx, r.data); err == nil || wrong != nil ||
		!contains[transformer.TFIDF](r.options.Preprocessing) {
		return false
	}
	r.options.Preprocessing, r.memo.values = hashed, map[string]any{}
	r.warnings = append(r.warnings, fmt.Sprintf("the terms of text are hashed to %d columns, because %v; drop text "+
		"whose rows share no words", hashedTerms, err))
	return true
}

// encodes reports whether a representation differs from others by its encoding of the categories.
func (r *sample) encodes(p representation) bool {
	categories := slices.ContainsFunc(r.data.Schema.Columns, func(c datasets.Column) bool {
		return c.Kind == datasets.Categorical && len(c.Categories) > 2
	})
	text := contains[transformer.TFIDF](r.options.Preprocessing)
	switch p.encode {
	case "":
		return true
	case encodeCharacters:
		return text
	case encodeColumns:
		return r.data.Cols() > 1 && (categories || text)
	}
	if !categories || r.classes > maxEncodedTargets || !contains[transformer.OneHot](r.options.Preprocessing) {
		return false
	}
	some := r.data.Select(rowblock.EvenlySpaced(r.data.Rows(), initialRows))
	_, err := pipeline.Chain{Steps: r.encoded(r.options.Preprocessing, p.encode)}.Fit(context.Background(), some)
	return err == nil
}

// supervised reports whether preprocessing maps its training rows by their targets.
func supervised(fitted *pipeline.FittedChain) bool { return fitted.Training(0) != nil }
