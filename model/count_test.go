package model_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/model"
)

// hollow has a width that its state does not imply, and optional numbers that do.
type hollow struct {
	width int
	held  []float64
}

func (h *hollow) State(s *model.State) {
	s.Count("width", &h.width)
	s.Floats("held", &h.held)
}

// TestCountIsBoundedByState checks that a count is bounded by the size of the state, when writing
// and reading.
func TestCountIsBoundedByState(t *testing.T) {
	for _, c := range []struct {
		h    hollow
		want string
	}{
		{hollow{width: 0}, ""},
		{hollow{width: archive.UncheckedCount}, ""},
		{hollow{width: archive.UncheckedCount + 90, held: make([]float64, 100)}, ""},
		{hollow{width: archive.UncheckedCount + 200, held: make([]float64, 100)},
			"width must be at most the size of the state, got 1048776 for 101 numbers"},
		{hollow{width: -1}, "width must be at most the size of the state, got -1 for 1 numbers"},
	} {
		_, err := model.Record(&c.h)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("written: %v, want %q", err, c.want)
		}
		a := &archive.Archive{Scalars: map[string]any{"width": float64(c.h.width)}, Arrays: map[string]archive.Array{
			"held": {Shape: []int{len(c.h.held)}, Floats: append([]float64{}, c.h.held...)}}}
		var back hollow
		err = model.Restore(a, &back)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("read: %v, want %q", err, c.want)
		}
	}
}

// TestTextsHaveBounds checks that nested values are not scalars, and that the length of strings to
// be parsed is limited.
func TestTextsHaveBounds(t *testing.T) {
	var b bytes.Buffer
	a := &archive.Archive{Scalars: map[string]any{"deep": []any{[]any{[]any{}}}}}
	if err := archive.Write(&b, archive.Header{}, a); err != nil {
		t.Fatal(err)
	}
	if _, _, err := archive.Read(bytes.NewReader(b.Bytes()), int64(b.Len())); !errors.Is(err, model.ErrDamaged) ||
		!strings.Contains(err.Error(), "deep must be a list of strings") {
		t.Errorf("lists in lists: %v", err)
	}
	if err := archive.Write(&b, archive.Header{Spec: strings.Repeat("[", 5<<20)}, &archive.Archive{}); err == nil ||
		!strings.Contains(err.Error(), "got 5242880") {
		t.Errorf("a spec of 5 MB: %v", err)
	}
}

// TestEmptyListsHaveBounds checks that empty lists and objects, which need much more memory than
// their text, are counted before they are decoded.
func TestEmptyListsHaveBounds(t *testing.T) {
	many := make([]any, 100_000)
	for i := range many {
		many[i] = []any{}
	}
	var b bytes.Buffer
	if err := archive.Write(&b, archive.Header{}, &archive.Archive{Scalars: map[string]any{"many": many}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := archive.Read(bytes.NewReader(b.Bytes()), int64(b.Len())); !errors.Is(err, model.ErrDamaged) ||
		!strings.Contains(err.Error(), "lists and objects in") {
		t.Error(err)
	}
	b.Reset()
	names := make([]string, 100_000)
	for i := range names {
		names[i] = `[{"`
	}
	if err := archive.Write(&b, archive.Header{}, &archive.Archive{Scalars: map[string]any{"names": names}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := archive.Read(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
		t.Error(err)
	}
}
