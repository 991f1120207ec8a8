package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/datasets"
)

// Encode returns the profile as JSON of at most maxBytes bytes. It omits trailing inputs, then the
// targets, to fit.
func (p Profile) Encode(maxBytes int) (string, error) {
	for {
		text, err := json.Marshal(p)
		switch {
		case err != nil:
			return "", fmt.Errorf("profile: %w", err)
		case len(text) <= maxBytes:
			return string(text), nil
		case len(p.Columns) > 0:
			keep := len(p.Columns) / 2
			p.Omitted += len(p.Columns) - keep
			p.Columns = p.Columns[:keep:keep]
		case len(p.Targets) > 0:
			p.Targets = nil
		default:
			return "", fmt.Errorf("profile: must be at most %d bytes, got %d", maxBytes, len(text))
		}
	}
}

// Decode parses the result of [Profile.Encode] and validates it against the schema and number of
// columns.
func Decode(text string, schema datasets.Schema, cols int) (Profile, error) {
	var p Profile
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Profile{}, fmt.Errorf("profile: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Profile{}, fmt.Errorf("profile: unexpected data after the profile")
	}
	return p, p.validate(schema, cols)
}
