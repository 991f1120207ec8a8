package auto

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rowblock"
	"github.com/bochner-ml/bochner/internal/textrows"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// Encodings of categories, by column.
const (
	encodeTargets = "targets" // target_encode
	encodeMixed   = "mixed"   // target_encode of columns with many categories, onehot of others
	encodeHashed  = "hashed"  // hash of columns with very many categories, onehot of others

	encodeCharacters = "characters" // tf-idf of characters in addition to that of words
	encodeColumns    = "columns"    // all categories, words and characters; ranks of numbers with long tails
)

const (
	manyCategories     = 10  // number of categories above which a column of encodeMixed is encoded by targets
	veryManyCategories = 250 // number of categories above which a column of encodeHashed is hashed
	hashedFeatures     = 128
	maxEncodedTargets  = 5 // number of classes up to which targets are encoded: each is a column of every input
)

// encoded returns the steps with other encoders in place of each onehot, tfidf or standardize, also in composites.
func (r *sample) encoded(steps []pipeline.Step, encode string) []pipeline.Step {
	var out []pipeline.Step
	for _, s := range steps {
		switch fitter := s.Fitter.(type) {
		case transformer.TFIDF:
			switch {
			case fitter.Analyzer == "word" && encode == encodeCharacters:
				s = pipeline.Step{Fitter: withCharacters(fitter)}
			case fitter.Analyzer == "word" && encode == encodeColumns:
				s = pipeline.Step{Fitter: r.termsByLength(fitter)}
			}
		case transformer.Standardize:
			if encode == encodeColumns {
				s = pipeline.Step{Fitter: r.scaledByTails(fitter)}
			}
		case transformer.OneHot:
			if encode == encodeCharacters {
				break
			}
			out = append(out, r.encoder(fitter, encode)...)
			continue
		case pipeline.Composite:
			s.Fitter = fitter.WithChildren(r.encoded(fitter.Children(), encode))
		}
		out = append(out, s)
	}
	return out
}

// termsByLength returns the step with sequences of characters instead for columns of short texts, such as names.
func (r *sample) termsByLength(words transformer.TFIDF) transformer.Fitter {
	const long = 60 // mean length of a text
	texts := textrows.Of(r.data.X)
	characters := words
	characters.Analyzer, characters.MinN, characters.MaxN, characters.StopWords = "char_wb", 2, 4, nil
	return r.grouped(datasets.Text, func(j int) bool {
		length := 0
		for i := range r.data.Rows() {
			text, _ := texts.Text(i, j)
			length += len(text)
		}
		return length > long*r.data.Rows()
	}, words, characters)
}

// grouped returns a step for the columns of a kind that satisfy a condition and another one for the rest.
func (r *sample) grouped(
	kind datasets.Kind, condition func(j int) bool, step, other transformer.Fitter,
) transformer.Fitter {
	var names, others []string
	for j := range r.data.Cols() {
		switch {
		case r.data.Schema.Column(j).Kind != kind || r.data.Schema.Column(j).Format.Delimiter != "":
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
func (r *sample) scaledByTails(standardize transformer.Fitter) transformer.Fitter {
	const far = 6 // standard deviations
	return r.grouped(datasets.Numeric, func(j int) bool {
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
	hashed := withHashing(r.options.Preprocessing)
	if _, wrong := (pipeline.Chain{Steps: hashed}).Fit(ctx, r.data); err == nil || wrong != nil ||
		!contains[transformer.TFIDF](r.options.Preprocessing) {
		return false
	}
	r.options.Preprocessing, r.memo.values = hashed, map[any]any{}
	r.warnings = append(r.warnings, fmt.Sprintf("the terms of text are hashed to %d columns, because %v; drop text "+
		"whose rows share no words", hashedTerms, err))
	return true
}

// withHashing returns the steps with hashed terms, also in composites.
func withHashing(steps []pipeline.Step) []pipeline.Step {
	out := slices.Clone(steps)
	for i, s := range out {
		switch fitter := s.Fitter.(type) {
		case transformer.TFIDF:
			fitter.Hashing, fitter.MinCount, fitter.MaxFeatures = hashedTerms, 1, 0
			out[i].Fitter = fitter
		case pipeline.Composite:
			out[i].Fitter = fitter.WithChildren(withHashing(fitter.Children()))
		}
	}
	return out
}

// withCharacters returns the terms of a step and, within words, the sequences of two to five characters.
func withCharacters(words transformer.TFIDF) pipeline.Union {
	characters := words
	characters.Analyzer, characters.MinN, characters.MaxN, characters.StopWords = "char_wb", 2, 5, nil
	return pipeline.Union{Parts: []pipeline.Step{{Name: "words", Fitter: words}, {Name: "characters", Fitter: characters}}}
}

// encoder returns the steps in place of onehot.
func (r *sample) encoder(onehot transformer.OneHot, encode string) []pipeline.Step {
	targets := transformer.NewTargetEncode()
	targets.Seed = r.seed("encode")
	byTargets := pipeline.Steps(targets, transformer.NewStandardize())
	hash := transformer.NewHash()
	hash.Features = hashedFeatures
	few, many := r.byCategories(manyCategories)
	steps := byTargets
	switch encode {
	case encodeColumns:
		var names []string // not those that are text too: terms tell how similar two names are
		for j := range r.data.Cols() {
			if c := r.data.Schema.Column(j); c.Kind == datasets.Categorical || c.Format.Delimiter != "" {
				names = append(names, c.Name)
			}
		}
		all := pipeline.Steps(transformer.NewOneHot())
		if len(names) == 0 {
			return all
		}
		return pipeline.Steps(pipeline.NewColumns(pipeline.Group{Name: "categories", Select: names, Steps: all}))
	case encodeTargets:
		return byTargets
	case encodeHashed:
		few, many = r.byCategories(veryManyCategories)
		steps = pipeline.Steps(hash)
	}
	groups := []pipeline.Group{{Name: "many", Select: many, Steps: steps}}
	if len(few) > 0 {
		groups = append(groups, pipeline.Group{Name: "few", Select: few, Steps: pipeline.Steps(onehot)})
	}
	return pipeline.Steps(pipeline.NewColumns(groups...))
}

// byCategories returns the names of the categorical columns with at most and with more than n categories.
func (r *sample) byCategories(n int) (few, many []string) {
	for j := range r.data.Cols() {
		switch c := r.data.Schema.Column(j); {
		case c.Kind != datasets.Categorical:
		case len(c.Categories) > n:
			many = append(many, r.data.Schema.Name(j))
		default:
			few = append(few, r.data.Schema.Name(j))
		}
	}
	return few, many
}

// encodes reports whether a representation differs from others by its encoding of the categories.
func (r *sample) encodes(p representation) bool {
	_, atAll := r.byCategories(2)
	few, many := r.byCategories(manyCategories)
	_, veryMany := r.byCategories(veryManyCategories)
	switch p.encode {
	case "":
		return true
	case encodeCharacters:
		return contains[transformer.TFIDF](r.options.Preprocessing)
	case encodeColumns:
		return r.data.Cols() > 1 && (len(atAll) > 0 || contains[transformer.TFIDF](r.options.Preprocessing))
	case encodeHashed:
		if len(veryMany) == 0 {
			return false
		}
	case encodeMixed:
		if len(few) == 0 || len(many) == 0 || r.classes > maxEncodedTargets {
			return false
		}
	default:
		if len(atAll) == 0 || r.classes > maxEncodedTargets {
			return false
		}
	}
	if !contains[transformer.OneHot](r.options.Preprocessing) {
		return false
	}
	some := r.data.Select(rowblock.EvenlySpaced(r.data.Rows(), initialRows))
	_, err := pipeline.Chain{Steps: r.encoded(r.options.Preprocessing, p.encode)}.Fit(context.Background(), some)
	return err == nil
}
