package datasets

import (
	"context"
	"errors"
	"sync"

	"github.com/bochner-ml/bochner/internal/rows/textrows"
)

// Documents gives estimates of cost access to the strings of text columns. It is safe for concurrent
// use.
type Documents struct {
	ctx    context.Context
	source Source

	mu    sync.Mutex
	known map[string]any
}

// WithDocuments returns the shape with access to the strings of src. Passes over src end with ctx.
func (s Shape) WithDocuments(ctx context.Context, src Source) Shape {
	s.Documents = &Documents{ctx: ctx, source: src, known: map[string]any{}}
	return s
}

// errEnough ends a pass early.
var errEnough = errors.New("enough rows")

// Each calls yield with the values of a text column until it returns false; a missing value is the
// empty string.
func (t *Documents) Each(column string, yield func(text string) bool) error {
	j := t.source.Schema().Index(column)
	err := t.source.Blocks(t.ctx, func(block Set) error {
		m := textrows.Of(block.X)
		if m == nil || j < 0 || !m.IsText(j) {
			return errors.New("datasets: " + column + " must be a text column")
		}
		for i := range block.Rows() {
			if text, _ := m.Text(i, j); !yield(text) {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Once returns the value of compute, which it calls only once for each key.
func (t *Documents) Once(key string, compute func() any) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	value, ok := t.known[key]
	if !ok {
		value = compute()
		t.known[key] = value
	}
	return value
}
