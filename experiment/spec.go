package experiment

import (
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/experiment/internal/validate"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/param"
)

// Load reads and validates an experiment file with overridden values. The error is a
// [param.FieldErrors] with all errors of the file, including missing data files and, for small
// files, invalid rows. [Validate] checks large files too.
func Load(ctx context.Context, path string, overrides ...Override) (Spec, error) {
	return LoadOptions{Overrides: overrides}.Load(ctx, path)
}

// LoadOptions are options of [Load]. The zero value gives its behavior.
type LoadOptions struct {
	Overrides []Override
	All       bool      // check large data files completely
	Continue  string    // model file whose schema the rows must have; see Options.Continue
	Input     io.Reader // content of the path "-" in data.train or data.test; nil is standard input
}

// Load is the function [Load] with options.
func (o LoadOptions) Load(ctx context.Context, path string) (Spec, error) {
	text, err := config.ReadText(path)
	if err != nil {
		return Spec{}, fmt.Errorf("experiment: %w", files.Tell(err))
	}
	return parse(ctx, path, text, o)
}

// Parse is [Load] for the content of a file. Paths in it are relative to the directory of file.
func Parse(ctx context.Context, file string, text []byte, overrides ...Override) (Spec, error) {
	return parse(ctx, file, text, LoadOptions{Overrides: overrides})
}

// parse decodes and validates an experiment. It stores the rows of pipes, and checks small data
// files or, with o.All, all of them.
func parse(ctx context.Context, file string, text []byte, o LoadOptions) (Spec, error) {
	d := config.Decode(file, text, o.Overrides...)
	if o.Continue != "" {
		m, err := openModel(o.Continue)
		if err != nil {
			return Spec{}, err
		}
		if d.Spec.Data.Gram.Given() {
			return Spec{}, param.FieldErrors{d.Spec.Locate("data.gram", param.FieldError{Problem: "Gram matrices do not " +
				"support incremental learning: they have other columns with other training rows"})}
		}
		d.Spec.Data.Known = m.known()
	}
	if d.Spec.Data.ReadOnce(d.Spec.Data.TrainAndTest()) && d.Err() != nil {
		return Spec{}, d.Err() // before any data is read
	}
	if err := d.Spec.Data.Spool(ctx, d.Spec.Data.TrainAndTest(), o.Input); ctx.Err() != nil {
		return Spec{}, ctxerr.Check(ctx)
	} else if err != nil {
		d.Errors = append(d.Errors, dataload.FieldErrors(d.Spec, "data.train", err)...)
		return Spec{}, d.Err()
	}
	validate.Document(ctx, d, o.All)
	if err := ctxerr.Check(ctx); err != nil {
		return Spec{}, err
	}
	if err := d.Err(); err != nil {
		return Spec{}, err
	}
	return d.Spec, nil
}

// JSONSchema returns the JSON Schema (draft 2020-12) of experiment files, for editors.
func JSONSchema() []byte { return config.JSONSchema() }

// Reference returns the reference of all keys and registered steps as Markdown.
func Reference() string { return config.Reference() }
