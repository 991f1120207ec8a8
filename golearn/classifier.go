package golearn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sjwhitworth/golearn/base"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Classifier adapts an estimator to golearn's base.Classifier, for use with golearn's evaluation.
// It can be fitted repeatedly; each fit starts from scratch. Predict matches attributes and
// categories with those of the fit by name.
//
// Unlike a spec, it is modified by Fit, as golearn requires, and is not safe for concurrent use.
type Classifier struct {
	spec  estimator.Estimator
	model *modelfile.Model // nil before a fit
}

var _ base.Classifier = (*Classifier)(nil)

// errNotFitted is the error of Predict and Save before Fit.
var errNotFitted = errors.New("the classifier is not fitted")

// NewClassifier returns a classifier that is fitted by spec: a pipeline, an estimator, or a search
// over the parameters of either. A regressor predicts a float class attribute.
func NewClassifier(spec estimator.Estimator) *Classifier { return &Classifier{spec: spec} }

// Model returns the fitted model, nil before a fit.
func (c *Classifier) Model() *modelfile.Model { return c.model }

// Fit fits the class attributes of the grid to all other attributes. If it returns an error, the
// classifier has no model.
func (c *Classifier) Fit(grid base.FixedDataGrid) error {
	c.model = nil
	data, err := FromGrid(grid)
	if err != nil {
		return err
	}
	if len(data.Schema.Targets) == 0 {
		return fmt.Errorf("golearn: the grid has no class attribute to learn")
	}
	for _, target := range data.Schema.Targets {
		if count := len(data.Schema.Targets); count > 1 && target.Kind == datasets.Categorical {
			return fmt.Errorf("golearn: %d class attributes, of which %s is categorical; a model predicts one class or "+
				"several numbers", count, target.Name)
		}
	}
	if c.spec == nil {
		return fmt.Errorf("golearn: a classifier that was loaded has no spec to fit; make one with NewClassifier")
	}
	spec, err := c.choose(data)
	if err != nil {
		return err
	}
	fitted, err := spec.Fit(context.Background(), data)
	if err != nil {
		return fmt.Errorf("golearn: %w", err)
	}
	m, err := modelfile.New(fitted)
	if err != nil {
		return fmt.Errorf("golearn: %w", err)
	}
	m.Schema = data.Schema
	c.model = m
	return nil
}

// choose returns the pipeline to fit; if the spec is a search, it runs the search first.
func (c *Classifier) choose(data datasets.Set) (pipeline.Pipeline, error) {
	spec := c.spec
	if search, ok := spec.(gridsearch.Search); ok {
		search.Refit = gridsearch.RefitBest
		result, err := search.Run(context.Background(), data)
		if err != nil {
			return pipeline.Pipeline{}, fmt.Errorf("golearn: %w", err)
		}
		best, err := param.With(search.Estimator, result.Best().Settings...)
		if err != nil {
			return pipeline.Pipeline{}, fmt.Errorf("golearn: %w", err)
		}
		spec = best.(estimator.Estimator)
	}
	if p, ok := spec.(pipeline.Pipeline); ok {
		return p, nil
	}
	return pipeline.Steps().Then(spec), nil
}

// Predict returns instances with a row for each row of the grid and only the class attribute, which
// contains the predictions. It uses the class attribute of the grid if that has every class of the
// model, else a new one of the same name.
func (c *Classifier) Predict(grid base.FixedDataGrid) (base.FixedDataGrid, error) {
	if c.model == nil {
		return nil, fmt.Errorf("golearn: %w", errNotFitted)
	}
	data, err := fromInputs(grid, c.model.Schema.Targets)
	if err != nil {
		return nil, err
	}
	if data, err = c.model.Align(data); err != nil {
		return nil, fmt.Errorf("golearn: %w", err)
	}
	reported, err := estimator.Predict(context.Background(), c.model.Predictor, data.X, estimator.Request{})
	if err != nil {
		return nil, fmt.Errorf("golearn: %w", err)
	}
	var out *base.DenseInstances
	err = recoverAs("writing predictions", func() error {
		out, err = c.toInstances(grid, reported)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// toInstances converts predictions for the rows of grid to instances.
func (c *Classifier) toInstances(grid base.FixedDataGrid, reported estimator.Prediction) (*base.DenseInstances, error) {
	out := base.NewDenseInstances()
	var specs []base.AttributeSpec
	for _, target := range c.model.Schema.Targets {
		a := classAttribute(grid, target)
		specs = append(specs, out.AddAttribute(a))
		if err := out.AddClassAttribute(a); err != nil {
			return nil, fmt.Errorf("golearn: target %s: %w", target.Name, err)
		}
	}
	if err := out.Extend(len(reported.Values)); err != nil {
		return nil, fmt.Errorf("golearn: %w", err)
	}
	for j, target := range c.model.Schema.Targets {
		a := specs[j].GetAttribute()
		for i := range reported.Values {
			v := reported.Values[i]
			if reported.Targets != nil {
				v = reported.Targets.At(i, j)
			}
			out.Set(specs[j], i, encode(a, target, v))
		}
	}
	return out, nil
}

// classAttribute returns the attribute of grid that has the name of the target and can represent
// the predictions, or a new one.
func classAttribute(grid base.FixedDataGrid, target datasets.Column) base.Attribute {
	for _, a := range grid.AllAttributes() {
		if a.GetName() != target.Name {
			continue
		}
		switch a := a.(type) {
		case *base.FloatAttribute:
			if target.Kind == datasets.Numeric {
				return a
			}
		case *base.BinaryAttribute:
			if slices.Equal(target.Categories, []string{"0", "1"}) {
				return a
			}
		case *base.CategoricalAttribute:
			known := a.GetValues()
			if target.Kind == datasets.Categorical && !slices.ContainsFunc(target.Categories,
				func(level string) bool { return !slices.Contains(known, level) }) {
				return a
			}
		}
	}
	return newAttribute(target)
}

// encode returns the bytes of a prediction.
func encode(a base.Attribute, target datasets.Column, v float64) []byte {
	switch a := a.(type) {
	case *base.CategoricalAttribute:
		return a.GetSysVal(target.Categories[int(v)])
	case *base.BinaryAttribute:
		return []byte{byte(v)}
	}
	return base.PackFloatToBytes(v)
}

// String returns the steps on one line.
func (c *Classifier) String() string {
	spec := c.spec
	if c.model != nil {
		spec = c.model.Spec()
	}
	if reported, ok := spec.(fmt.Stringer); ok {
		return fmt.Sprintf("Bochner(%s)", reported)
	}
	return fmt.Sprintf("Bochner(%T)", spec)
}

// Save writes the fitted model to a model file, as package pipeline/modelfile does. It returns an
// error, and writes nothing, if the model contains a [Filter].
func (c *Classifier) Save(path string) error {
	if err := c.checkSavable(); err != nil {
		return err
	}
	return c.model.Save(path)
}

// checkSavable returns an error if the model cannot be saved.
func (c *Classifier) checkSavable() error {
	if c.model == nil {
		return fmt.Errorf("golearn: nothing to save: %w", errNotFitted)
	}
	if name, ok := findFilter(c.model.Spec().Steps); ok {
		return fmt.Errorf("golearn: step %s is a filter of golearn's, and what that has learned cannot be written to a "+
			"file; a pipeline to be saved needs a step of package transformer instead", name)
	}
	return nil
}

// findFilter returns the name of the first step that is a golearn filter, at any depth.
func findFilter(steps []pipeline.Step) (name string, ok bool) {
	for _, s := range steps {
		switch f := s.Fitter.(type) {
		case Filter:
			if s.Name == "" {
				return "golearn.Filter", true
			}
			return s.Name, true
		case pipeline.Composite:
			if name, ok := findFilter(f.Children()); ok {
				return name, true
			}
		}
	}
	return "", false
}

// Load loads the model from a file written by Save or by a run of an experiment. If the classifier
// has no spec, later fits use that of the file.
func (c *Classifier) Load(path string) error {
	m, err := modelfile.Load(path)
	if err != nil {
		return fmt.Errorf("golearn: %w", err)
	}
	return c.setModel(m)
}

func (c *Classifier) setModel(m *modelfile.Model) error {
	if len(m.Schema.Targets) == 0 {
		return fmt.Errorf("golearn: the task of the model is unknown")
	}
	if c.model = m; c.spec == nil {
		c.spec = m.Spec()
	}
	return nil
}

const (
	format  = "bochner"
	version = "1"
	entry   = "model.bochner"
)

// GetMetadata returns the metadata of the classifier for golearn's files.
func (c *Classifier) GetMetadata() base.ClassifierMetadataV1 {
	return base.ClassifierMetadataV1{
		FormatVersion: 1, ClassifierName: format, ClassifierVersion: version,
		ClassifierMetadata: map[string]any{"pipeline": c.String()},
	}
}

// SaveWithPrefix writes the fitted model to a golearn file, as part of an ensemble. It does not
// close the writer.
func (c *Classifier) SaveWithPrefix(writer *base.ClassifierSerializer, prefix string) error {
	if err := c.checkSavable(); err != nil {
		return err
	}
	var file bytes.Buffer
	if err := c.model.Write(&file); err != nil {
		return fmt.Errorf("golearn: %w", err)
	}
	return recoverAs("writing a file", func() error {
		return writer.WriteBytesForKey(writer.Prefix(prefix, entry), file.Bytes())
	})
}

// LoadWithPrefix loads the model from a golearn file.
func (c *Classifier) LoadWithPrefix(reader *base.ClassifierDeserializer, prefix string) error {
	var file []byte
	err := recoverAs("reading a file", func() (err error) {
		file, err = reader.GetBytesForKey(reader.Prefix(prefix, entry))
		return err
	})
	if err != nil {
		return fmt.Errorf("golearn: no model in the file: %w", err)
	}
	m, err := modelfile.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return fmt.Errorf("golearn: %w", err)
	}
	return c.setModel(m)
}
