package bochner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// message is a row with text, which the option text declares and the other one is inferred to be.
type message struct {
	Subject string `bochner:"subject,text"`
	Body    string
	Length  float64
	Sender  string
	Spam    bool
}

// messages returns rows whose class is that of a word of the text.
func messages(n int) []message {
	out := make([]message, n)
	for i := range out {
		out[i] = message{Subject: []string{"win", "meeting"}[i%2], Body: fmt.Sprintf("this is the message number %d", i),
			Length: float64(i % 7), Sender: []string{"a", "b", "c"}[i%3], Spam: i%2 == 0}
		if i%4 < 2 {
			out[i].Subject, out[i].Body = "", out[i].Body+" about "+[]string{"money", "work"}[i%2]
		}
	}
	return out
}

// A machine for rows with text gives the same predictions for a set, for rows by name, for other sets with other
// kinds of columns, streamed, by merged passes, and after it was saved.
func TestText(t *testing.T) {
	ctx := context.Background()
	list := messages(200)
	data, err := datasets.FromStructs(list, "Spam")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(data.Schema.Columns[0].Kind, data.Schema.Columns[1].Kind, data.Schema.Columns[3].Kind); got !=
		"text text categorical" {
		t.Fatal(got)
	}
	machine := bochner.KernelMachine(data)
	if got := machine.String(); got != "columns → logistic" {
		t.Fatal(got)
	}
	m, err := bochner.Fit(ctx, machine, data)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Predictor.Predict(ctx, data.X)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got []float64, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
		for i := range got {
			if got[i] != want[i] || got[i] != data.Y[i] {
				t.Fatalf("%s: row %d: %v, want %v, class %v", what, i, got[i], want[i], data.Y[i])
			}
		}
	}
	path := filepath.Join(t.TempDir(), "model.bochner")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	if m, err = bochner.Open(path); err != nil {
		t.Fatal(err)
	}
	got, err := m.Predict(ctx, data)
	same("saved", got, err)
	answers, err := m.PredictRows(ctx, list)
	got = nil
	for _, a := range answers {
		got = append(got, a.Value)
	}
	same("by name", got, err)
	few, err := datasets.FromStructs(list[:5], "Spam") // too few rows for an inference: the body is categorical
	if err != nil {
		t.Fatal(err)
	}
	got, err = m.Predict(ctx, few)
	same("few", got, err)
	streamed, err := machine.FitSource(ctx, data.Source())
	if err != nil {
		t.Fatal(err)
	}
	got, err = streamed.Predict(ctx, data.X)
	same("streamed", got, err)
	if _, err := m.Predictor.Predict(ctx, textrows.Of(data.X).Dense()); err == nil ||
		!strings.Contains(err.Error(), "text") {
		t.Errorf("numbers instead of text: %v", err)
	}
	if _, err := m.Encode([]map[string]any{{"subject": 5, "Body": nil, "Length": 1, "Sender": "a"}}); err == nil ||
		!strings.Contains(err.Error(), "must be a string") {
		t.Errorf("a number as text: %v", err)
	}
}

// TestTextIsRefused checks that every step and model rejects text columns as numbers, from any
// source.
func TestTextIsRefused(t *testing.T) {
	ctx := context.Background()
	data, err := datasets.FromStructs(messages(50), "Spam")
	if err != nil {
		t.Fatal(err)
	}
	rest := pipeline.NewColumns(pipeline.Group{Select: []string{"text"}, Steps: pipeline.Steps(transformer.NewTFIDF())},
		pipeline.Group{Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())})
	rest.Remainder = "passthrough"
	all := pipeline.NewColumns(pipeline.Group{Select: []string{"*"}})
	impute := transformer.NewImpute()
	impute.Strategy = "most_frequent"
	for name, steps := range map[string]pipeline.Sequence{
		"none":       {},
		"impute":     pipeline.Steps(impute),
		"dense":      pipeline.Steps(transformer.Dense{}),
		"rff":        pipeline.Steps(transformer.NewRFF()),
		"chain":      pipeline.Steps(pipeline.NewChain()),
		"columns":    pipeline.Steps(all),
		"text alone": pipeline.Steps(pipeline.NewColumns(pipeline.Group{Select: []string{"text"}})),
	} {
		for _, model := range []estimator.Estimator{estimator.NewLogistic(), estimator.NewKernelRidgeClassifier(),
			estimator.NewSGDClassifier()} {
			if _, err := steps.Then(model).Fit(ctx, data); err == nil || !strings.Contains(err.Error(), "text") {
				t.Errorf("%s, %T: %v", name, model, err)
			}
			if _, err := steps.Then(model).FitSource(ctx, data.Source()); err == nil || !strings.Contains(err.Error(), "text") {
				t.Errorf("%s, %T, streamed: %v", name, model, err)
			}
		}
		if err := steps.Then(estimator.NewLogistic()).CheckKinds(data.Schema); err == nil ||
			!strings.Contains(err.Error(), "text") {
			t.Errorf("%s: checked: %v", name, err)
		}
	}
	if _, err := pipeline.Steps(rest).Then(estimator.NewLogistic()).Fit(ctx, data); err != nil {
		t.Errorf("numbers passed on next to text: %v", err)
	}
}
