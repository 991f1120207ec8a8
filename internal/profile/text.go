package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/datasets"
)

// Encode returns the profile as JSON of at most so many bytes, with as many of its first inputs as fit, or without
// targets too where none does.
func (p Profile) Encode(most int) (string, error) {
	for {
		text, err := json.Marshal(p)
		switch {
		case err != nil:
			return "", fmt.Errorf("profile: %w", err)
		case len(text) <= most:
			return string(text), nil
		case len(p.Columns) > 0:
			keep := len(p.Columns) / 2
			p.LeftOut += len(p.Columns) - keep
			p.Columns = p.Columns[:keep:keep]
		case len(p.Targets) > 0:
			p.Targets = nil
		default:
			return "", fmt.Errorf("profile: %d bytes, wanted at most %d", len(text), most)
		}
	}
}

// Decode reads what [Profile.Encode] has written of rows of that schema, with so many columns, and refuses what
// cannot be so.
func Decode(text string, schema datasets.Schema, cols int) (Profile, error) {
	var p Profile
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Profile{}, fmt.Errorf("profile: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Profile{}, fmt.Errorf("profile: no end after it")
	}
	return p, p.check(schema, cols)
}
