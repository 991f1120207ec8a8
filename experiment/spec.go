package experiment

import (
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/internal/ctxerr"
	"github.com/bochner-ml/bochner/internal/experiment/config"
	"github.com/bochner-ml/bochner/internal/experiment/dataload"
	"github.com/bochner-ml/bochner/internal/experiment/validate"
	"github.com/bochner-ml/bochner/internal/files"
)

// Load reads an experiment file, with values overridden, and reports all that is wrong with it as
// [FieldErrors], files that do not exist included, and all that is wrong with its rows where the files
// are small. [Validate] looks at large ones, too.
func Load(ctx context.Context, path string, overrides ...Override) (Spec, error) {
	return LoadWith(ctx, path, LoadOptions{Overrides: overrides})
}

// Validate reports everything that is wrong with an experiment file, with values overridden, and with
// its data, as [FieldErrors]. Unlike [Load] it reads large files of rows through, too: it finds what [Run]
// would find before its first fit.
func Validate(ctx context.Context, path string, overrides ...Override) error {
	_, err := LoadWith(ctx, path, LoadOptions{Overrides: overrides, All: true})
	return err
}

// LoadOptions say more about how an experiment file is read. The zero value reads it as [Load] does.
type LoadOptions struct {
	Overrides []Override
	All       bool      // whether large files of rows are read through, too, as [Validate] does
	Continue  string    // model file whose rows these go on from, as for [LoadOn]; "" for none
	Input     io.Reader // what the path "-" stands for in data.train or data.test; nil is standard input
}

// LoadWith is [Load] with more to say.
func LoadWith(ctx context.Context, path string, o LoadOptions) (Spec, error) {
	text, err := config.ReadText(path)
	if err != nil {
		return Spec{}, fmt.Errorf("experiment: %w", files.Tell(err))
	}
	return parse(ctx, path, text, o)
}

// Parse is Load for a string that stands in a file of that name.
func Parse(ctx context.Context, file string, text []byte, overrides ...Override) (Spec, error) {
	return parse(ctx, file, text, LoadOptions{Overrides: overrides})
}

// parse reads an experiment, what comes once of its rows, and all of them where they are small or all is wanted.
func parse(ctx context.Context, file string, text []byte, o LoadOptions) (Spec, error) {
	d := config.Decode(file, text, o.Overrides...)
	if o.Continue != "" {
		m, err := openModel(o.Continue)
		if err != nil {
			return Spec{}, err
		}
		d.Spec.Data.Known = m.known()
	}
	if d.Spec.Data.ComesOnce(d.Spec.Data.TrainAndTest()) && d.Err() != nil {
		return Spec{}, d.Err() // nobody need send the rows
	}
	if err := d.Spec.Data.Hold(ctx, d.Spec.Data.TrainAndTest(), o.Input); ctx.Err() != nil {
		return Spec{}, ctxerr.Check(ctx)
	} else if err != nil {
		d.Faults = append(d.Faults, dataload.FaultsOf(d.Spec, "data.train", err)...)
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

// JSONSchema returns the JSON Schema (draft 2020-12) of experiment files, by which an editor can
// complete and check them.
func JSONSchema() []byte { return config.JSONSchema() }

// Reference returns the tables of the experiment file as Markdown, made from the declarations of
// its keys and of every step.
func Reference() string { return config.Reference() }
