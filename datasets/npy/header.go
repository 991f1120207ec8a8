package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// header is the header of an array.
type header struct {
	descr   string // the type, as the file has it
	fields  []field
	item    int // bytes of an element
	fortran bool
	shape   []int
	length  int // bytes of the header
}

// field is a field of an element: its type and its offset.
type field struct {
	name   string // "" where the array has no fields
	descr  string
	kind   byte // b i u f U S M, or another one of which no column is made
	size   int  // bytes
	offset int
	order  binary.ByteOrder
	unit   string // of a time
	count  int    // units in a step of a time
}

// named reports whether the array has fields.
func (h *header) named() bool { return len(h.fields) > 0 && h.fields[0].name != "" }

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 20
)

// readHeader reads the header of an array.
func readHeader(r io.Reader) (header, error) {
	var h header
	fixed := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(r, fixed); err != nil || string(fixed[:len(magic)]) != magic {
		if string(fixed[:2]) == "PK" {
			return h, errors.New("archive must be a regular uncompressed file: it is read from its end")
		}
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("not an array as numpy writes it: it does not begin with \\x93NUMPY")
		}
		return h, err
	}
	var length int
	size := 2
	switch version := fixed[len(magic)]; version {
	case 1:
	case 2, 3:
		size = 4
	default:
		return h, fmt.Errorf("format version must be 1 to 3, got %d", version)
	}
	var counted [4]byte
	if _, err := io.ReadFull(r, counted[:size]); err != nil {
		return h, errors.New("its header ends before its time")
	}
	length = int(binary.LittleEndian.Uint32(counted[:]))
	if length > maxHeader {
		return h, fmt.Errorf("header must have at most %[2]d bytes, got %[1]d", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, errors.New("its header ends before its time")
	}
	h.length = len(fixed) + size + length
	return h, h.parse(string(text))
}

// parse reads the header's text, which is a dictionary of Python.
func (h *header) parse(text string) error {
	p := literal{rest: text}
	v, err := p.value(0)
	if err != nil {
		return fmt.Errorf("its header is damaged: %w", err)
	}
	all, ok := v.(map[string]any)
	if !ok {
		return errors.New("its header is damaged: it is no dictionary")
	}
	if h.fortran, ok = all["fortran_order"].(bool); !ok {
		return errors.New("damaged header: missing axis order")
	}
	shape, ok := all["shape"].([]any)
	if !ok {
		return errors.New("its header is damaged: it has no shape")
	}
	for _, n := range shape {
		size, ok := n.(int)
		if !ok || size < 0 {
			return errors.New("its header is damaged: its shape has what is no size")
		}
		h.shape = append(h.shape, size)
	}
	if err := h.types(all["descr"]); err != nil {
		return err
	}
	_, err = h.size()
	return err
}

// size returns how many bytes the values take.
func (h *header) size() (int64, error) {
	total := int64(max(h.item, 1))
	for _, n := range h.shape {
		if n > 0 && total > math.MaxInt64/2/int64(n) {
			return 0, fmt.Errorf("its shape %v is larger than any file", h.shape)
		}
		total *= int64(n)
	}
	if h.item == 0 {
		return 0, nil
	}
	return total, nil
}

// types reads the type of the elements.
func (h *header) types(descr any) error {
	switch d := descr.(type) {
	case string:
		f, err := parseType(d)
		if err != nil {
			return err
		}
		h.descr, h.fields, h.item = d, []field{f}, f.size
		return nil
	case []any:
		h.descr = "structure"
		for _, one := range d {
			if err := h.field(one); err != nil {
				return err
			}
		}
		if len(h.fields) > 0 {
			return nil
		}
	}
	return errors.New("its header is damaged: it has no type")
}

// field reads one field of a structured type: its name, its type, and perhaps a shape.
func (h *header) field(one any) error {
	parts, ok := one.([]any)
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return errors.New("its header is damaged: a field is neither name and type nor name, type and shape")
	}
	name, ok := parts[0].(string)
	if title, is := parts[0].([]any); is && len(title) == 2 {
		name, ok = title[1].(string)
	}
	if !ok {
		return errors.New("its header is damaged: a field has no name")
	}
	descr, plain := parts[1].(string)
	if !plain || len(parts) == 3 {
		return fmt.Errorf("field %q is itself an array or a structure; write it as columns of its own", name)
	}
	f, err := parseType(descr)
	if err != nil {
		return err
	}
	f.name, f.offset = name, h.item
	if h.item += f.size; h.item > maxItem {
		return fmt.Errorf("elements of more than %d bytes", maxItem)
	}
	if name != "" { // else it is padding
		h.fields = append(h.fields, f)
	}
	return nil
}

// maxItem bounds the bytes of an element, which may be a long text.
const maxItem = 1 << 24

// parseType reads a type such as <f8, |b1 or <M8[ns].
func parseType(descr string) (field, error) {
	f := field{descr: descr, order: binary.LittleEndian}
	damaged := fmt.Errorf("its header is damaged: there is no type %q", descr)
	t, unit, timed := strings.Cut(descr, "[")
	if len(t) < 2 {
		return f, damaged
	}
	switch t[0] {
	case '<', '|', '=':
		t = t[1:]
	case '>':
		f.order, t = binary.BigEndian, t[1:]
	}
	f.kind = t[0]
	size, err := strconv.Atoi(t[1:])
	if t == "O" {
		size, err = 8, nil
	}
	if err != nil || size < 0 || size > maxItem {
		return f, damaged
	}
	f.size = size
	switch f.kind {
	case 'U':
		if f.size *= 4; f.size > maxItem {
			return f, damaged
		}
	case 'M':
		unit, closed := strings.CutSuffix(unit, "]")
		digits := len(unit) - len(strings.TrimLeft(unit, "0123456789"))
		f.count, f.unit = 1, unit[digits:]
		if digits > 0 {
			f.count, err = strconv.Atoi(unit[:digits])
		}
		if _, known := units[f.unit]; err != nil || timed && !closed || f.count < 1 || f.count > 1<<20 || !known ||
			f.size != 8 {
			f.kind = 0
		}
	}
	return f, nil
}

// columnType returns the type of the column, or Unreadable if the field cannot be one.
func (f *field) columnType() table.Type {
	sizes := map[byte][]int{'b': {1}, 'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'f': {2, 4, 8}}
	switch {
	case f.size == 0:
		return table.Unsupported
	case f.kind == 'U' || f.kind == 'S':
		return table.Strings
	case f.kind == 'M':
		return table.Times
	case f.kind == 'b' && f.size == 1:
		return table.Booleans
	case slices.Contains(sizes[f.kind], f.size):
		return table.Numbers
	}
	return table.Unsupported
}

// literal parses Python literals: strings, integers, Booleans, lists, tuples and dictionaries.
type literal struct{ rest string }

// maxDepth bounds how deep values are in others.
const maxDepth = 16

func (p *literal) value(depth int) (any, error) {
	p.skipBlanks()
	if depth > maxDepth {
		return nil, errors.New("it is too deep")
	}
	if p.rest == "" {
		return nil, errors.New("it ends before its time")
	}
	for word, v := range map[string]any{"True": true, "False": false, "None": nil} {
		if strings.HasPrefix(p.rest, word) {
			p.rest = p.rest[len(word):]
			return v, nil
		}
	}
	switch c := p.rest[0]; {
	case c == '{':
		return p.dictionary(depth)
	case c == '(' || c == '[':
		return p.list(depth)
	case c == '\'' || c == '"':
		return p.quoted()
	case c == '-' || c-'0' <= 9:
		end := 1
		for end < len(p.rest) && p.rest[end]-'0' <= 9 {
			end++
		}
		n, err := strconv.Atoi(p.rest[:end])
		p.rest = strings.TrimPrefix(p.rest[end:], "L") // as Python 2 wrote long ones
		return n, err
	}
	return nil, fmt.Errorf("%.12q is nothing that is known", p.rest)
}

func (p *literal) skipBlanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// accept consumes one of the given marks if it is next.
func (p *literal) accept(marks string) bool {
	p.skipBlanks()
	if p.rest == "" || !strings.Contains(marks, p.rest[:1]) {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *literal) list(depth int) (any, error) {
	p.rest = p.rest[1:]
	out := []any{}
	for !p.accept(")]") {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if !p.accept(",") && !strings.ContainsAny(p.rest[:min(len(p.rest), 1)], ")]") {
			return nil, errors.New("a list has no end")
		}
	}
	return out, nil
}

func (p *literal) dictionary(depth int) (any, error) {
	p.rest = p.rest[1:]
	out := map[string]any{}
	for !p.accept("}") {
		key, err := p.value(depth + 1)
		name, ok := key.(string)
		if err != nil || !ok || !p.accept(":") {
			return nil, errors.New("what should be a name and a value is none")
		}
		if out[name], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		p.accept(",")
	}
	return out, nil
}

func (p *literal) quoted() (any, error) {
	quote := p.rest[0]
	var out []byte
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			p.rest = p.rest[i+1:]
			return string(out), nil
		case c == '\\' && i+1 < len(p.rest):
			i++
			out = append(out, p.rest[i])
		default:
			out = append(out, c)
		}
	}
	return nil, errors.New("a string has no end")
}
