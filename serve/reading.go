package serve

import (
	"strings"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/param"
)

// rowFormat is the part of the data section of an experiment file that also applies to rows of requests.
type rowFormat struct{ reader.Files }

// Params declares the keys of that part.
func (r *rowFormat) Params(l *param.List) {
	l.Child("csv", &r.CSV)
	l.Value(&r.Target, "target", "predicted columns")
	l.Value(&r.Dates, "dates", "columns of dates")
	l.String(&r.Weight, "weight", "column of sample weights")
	l.String(&r.Group, "group", "column of groups")
	l.Names(&r.Drop, "drop", "columns that are no inputs")
}

// decodeRowFormat decodes the reading options of a model file; "" has the defaults.
func decodeRowFormat(text string) (r rowFormat, err error) {
	r = rowFormat{reader.NewFiles()}
	given, err := yamlnode.Mapping(text)
	if err != nil {
		return r, err
	}
	var settings []param.Setting
	for _, p := range param.All(r) {
		section, key, below := strings.Cut(p.Path, ".")
		at := given
		if below {
			at, _ = given[section].(map[string]any)
		} else {
			key = section
		}
		if value, found := at[key]; found {
			settings = append(settings, param.Setting{Path: p.Path, Value: value})
		}
	}
	set, err := param.With(r, settings...)
	if err != nil {
		return r, err
	}
	return set.(rowFormat), nil
}
