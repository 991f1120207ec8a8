// Package archive reads and writes model files: zip archives of JSON and .npy arrays.
package archive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// format is the version of the file format that this package writes. It reads this and older
// versions.
const format = 1

// Archive is the state of a fitted value by path: "steps/rff/omega".
type Archive struct {
	Scalars map[string]any // bool, float64, string or []string
	Arrays  map[string]Array
}

// Array is a numeric array in row-major order. Exactly one of its slices is not nil.
type Array struct {
	Shape   []int
	Floats  []float64
	Ints    []int64
	Uint32s []uint32
}

// Size returns the number of numbers and strings in the archive.
func (a *Archive) Size() int {
	n := len(a.Scalars)
	for _, v := range a.Scalars {
		if list, ok := v.([]string); ok {
			n += len(list)
		}
	}
	for _, v := range a.Arrays {
		n += len(v.Floats) + len(v.Ints) + len(v.Uint32s)
	}
	return n
}

// AnySpec replaces the spec in the state of a pass, so that a pass of any spec restores it.
const AnySpec = "adopted"

// ReplaceSpecs sets the specs in the state of a pass to [AnySpec].
func (a *Archive) ReplaceSpecs() {
	for name := range a.Scalars {
		if name == "spec" || strings.HasSuffix(name, "/spec") {
			a.Scalars[name] = AnySpec
		}
	}
}

// UncheckedCount is the largest count that is allowed regardless of the size of the state.
const UncheckedCount = 1 << 20

// Header describes the model in a model file.
type Header struct {
	Name string `json:"name,omitempty"`
	Task string `json:"task,omitempty"` // "classification" or "regression"
	Spec string `json:"spec"`           // the pipeline, as YAML
	// Reading describes how to read data files, in the notation of the writing program.
	Reading string             `json:"reading,omitempty"`
	Columns []Column           `json:"columns,omitempty"` // columns of the inputs; empty if unnamed
	Targets []Column           `json:"targets,omitempty"` // columns of the targets
	Classes []string           `json:"classes,omitempty"` // names of the classes by code
	Missing []string           `json:"missing,omitempty"` // strings that denote a missing value in files of rows
	Metrics map[string]float64 `json:"metrics,omitempty"` // scores, as "test.accuracy"
	// ScoredRows are the training rows of the model with the scores, FittedRows the rows of a refit after them.
	ScoredRows int `json:"scored_rows,omitempty"`
	FittedRows int `json:"fitted_rows,omitempty"`

	Versions map[string]string `json:"versions,omitempty"` // versions of the programs that wrote the file
	Profile  string            `json:"profile,omitempty"`  // statistics of the training rows, as JSON
}

// Column describes a column.
type Column struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`             // "numeric", "categorical" or "text"
	Levels []string `json:"levels,omitempty"` // categories of a categorical column, by code
	Format string   `json:"format,omitempty"` // how values are written: "number GB", "name" or "labels |"
	// EncodedFrom is the column from which this one was encoded, such as the dates of a part; EncodedKind is its kind.
	EncodedFrom string `json:"encoded_from,omitempty"`
	EncodedKind string `json:"encoded_kind,omitempty"`
}

// index is model.json.
type index struct {
	Format int `json:"format"`
	Header
	State  scalars      `json:"state"`
	Arrays []arrayEntry `json:"arrays"`
}

// arrayEntry describes an array.
type arrayEntry struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
}

func (e arrayEntry) file() string { return e.Name + ".npy" }

const (
	indexName      = "model.json"
	maxStringBytes = 4 << 20 // bytes of a string that is parsed
	sealPrefix     = "sha256:"
	sealLength     = len(sealPrefix) + 2*sha256.Size
)

// maxIndexBytes bounds the bytes of model.json. Tests lower it.
var maxIndexBytes = 256 << 20

// Errors of [Read] wrap one of these.
var (
	ErrDamaged = errors.New("the file is damaged or not a model file")
	ErrNewer   = errors.New("the model file is from a newer version")
)

// Write writes a model file: a zip archive with model.json and one uncompressed .npy file for each
// array, readable by numpy.load. The comment of the archive is the SHA-256 hash of the preceding
// bytes. Equal headers and states give equal bytes.
func Write(w io.Writer, h Header, a *Archive) error {
	x := index{Format: format, Header: h, State: a.Scalars, Arrays: []arrayEntry{}}
	for _, name := range slices.Sorted(maps.Keys(a.Arrays)) {
		array := a.Arrays[name]
		if err := array.check(); err != nil {
			return fmt.Errorf("model: array %s: %w", name, err)
		}
		x.Arrays = append(x.Arrays, arrayEntry{Name: name, Type: array.kind(), Shape: array.Shape})
	}
	if err := x.checkStrings(); err != nil {
		return err
	}
	doc, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if len(doc) > maxIndexBytes {
		return fmt.Errorf("model: cannot save the model: its categories, terms and other strings must have at most %d bytes "+
			"as JSON, got %d; drop columns with many categories, or limit the terms with min_count or max_features",
			maxIndexBytes, len(doc))
	}
	s := newSealer(w)
	z := zip.NewWriter(s)
	err = entry(z, indexName, func(w io.Writer) error { _, err := w.Write(doc); return err })
	for _, e := range x.Arrays {
		if err == nil {
			err = entry(z, e.file(), func(w io.Writer) error { return writeNpy(w, a.Arrays[e.Name]) })
		}
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = s.writeChecksum()
	}
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}

func entry(z *zip.Writer, name string, write func(w io.Writer) error) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	return write(w)
}

// checkStrings returns an error for strings that are not valid UTF-8 or too long.
func (x index) checkStrings() error {
	if err := x.checkLengths(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	var all []string
	for name, v := range x.State {
		all = append(all, name)
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []string:
			all = append(all, v...)
		}
	}
	for _, list := range [][]Column{x.Columns, x.Targets} {
		for _, c := range list {
			all = append(append(all, c.Name), c.Levels...)
		}
	}
	for _, text := range slices.Concat(all, []string{x.Spec, x.Name, x.Task, x.Profile}, x.Classes, x.Missing) {
		if !utf8.ValidString(text) {
			return fmt.Errorf("model: string must be UTF-8, got %q", text)
		}
	}
	for _, v := range x.Metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("model: metrics must be finite, got %v", v)
		}
	}
	return nil
}

// checkLengths limits strings that take much more memory once they are parsed.
func (h Header) checkLengths() error {
	if n := max(len(h.Spec), len(h.Reading), len(h.Profile)); n > maxStringBytes {
		return fmt.Errorf("spec, reading and profile must have at most %d bytes, got %d", maxStringBytes, n)
	}
	return nil
}

// checksumWriter writes a zip without a comment and appends one, the hash of the preceding bytes.
type checksumWriter struct {
	w    io.Writer
	hash interface {
		io.Writer
		Sum([]byte) []byte
	}
	lengthBytes []byte // the last two bytes, which are the length of the comment
}

func newSealer(w io.Writer) *checksumWriter { return &checksumWriter{w: w, hash: sha256.New()} }

func (s *checksumWriter) Write(p []byte) (int, error) {
	all := append(s.lengthBytes, p...)
	cut := max(len(all)-2, 0)
	s.lengthBytes = slices.Clone(all[cut:])
	return len(p), s.pass(all[:cut])
}

func (s *checksumWriter) pass(p []byte) error {
	s.hash.Write(p)
	_, err := s.w.Write(p)
	return err
}

func (s *checksumWriter) writeChecksum() error {
	if err := s.pass(binary.LittleEndian.AppendUint16(nil, uint16(sealLength))); err != nil {
		return err
	}
	_, err := io.WriteString(s.w, sealPrefix+hex.EncodeToString(s.hash.Sum(nil)))
	return err
}

// ReadFile reads the model file at path.
func ReadFile(path string) (Header, *Archive, error) {
	f, info, err := files.OpenNow(path)
	if err != nil {
		return Header{}, nil, fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		return Header{}, nil, fmt.Errorf("model: %s: not a file", path)
	}
	h, a, err := Read(f, info.Size())
	if err != nil {
		return Header{}, nil, fmt.Errorf("%w: %s", err, path)
	}
	return h, a, nil
}

// Read reads a model file of the given size. It allocates at most a small multiple of the size. For
// a file that is not a model file, damaged or truncated, the error wraps [ErrDamaged]; for a later
// format, [ErrNewer]. The arrays are copies.
func Read(r io.ReaderAt, size int64) (Header, *Archive, error) {
	sealed := make(chan error, 1)
	go func() { sealed <- verifyChecksum(r, size) }()
	h, a, err := read(r, size)
	if broken := <-sealed; broken != nil { // explains any other error
		err = broken
	}
	if err != nil && !errors.Is(err, ErrNewer) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return Header{}, nil, fmt.Errorf("model: %w", err)
	}
	return h, a, nil
}

// read reads the entries of a file while its checksum is verified concurrently, so they may be
// corrupt.
func read(r io.ReaderAt, size int64) (Header, *Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return Header{}, nil, err
	}
	files, err := entries(z, size)
	if err != nil {
		return Header{}, nil, err
	}
	x, err := readIndex(files[indexName])
	if err != nil {
		return Header{}, nil, err
	}
	if len(files) != len(x.Arrays)+1 {
		return Header{}, nil, fmt.Errorf("%d arrays are listed, the file has %d", len(x.Arrays), len(files)-1)
	}
	a := &Archive{Scalars: x.State, Arrays: map[string]Array{}}
	for _, e := range x.Arrays {
		f := files[e.file()]
		if f == nil || e.file() == indexName {
			return Header{}, nil, fmt.Errorf("array %s is missing", e.Name)
		}
		if _, twice := a.Arrays[e.Name]; twice {
			return Header{}, nil, fmt.Errorf("array %s is listed twice", e.Name)
		}
		if a.Arrays[e.Name], err = readArray(f, e); err != nil {
			return Header{}, nil, fmt.Errorf("array %s: %w", e.Name, err)
		}
	}
	return x.Header, a, nil
}

// verifyChecksum compares the hash at the end of the file with the rest.
func verifyChecksum(r io.ReaderAt, size int64) error {
	var start [4]byte
	if _, err := r.ReadAt(start[:], 0); err != nil || string(start[:]) != "PK\x03\x04" {
		return errors.New("it does not begin as a model file does")
	}
	body := size - int64(sealLength)
	if body < 0 {
		return errors.New("it is cut off")
	}
	header := make([]byte, sealLength)
	if _, err := r.ReadAt(header, body); err != nil {
		return err
	}
	if !bytes.HasPrefix(header, []byte(sealPrefix)) {
		return errors.New("it is cut off, or was changed: no checksum at its end")
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, io.NewSectionReader(r, 0, body),
		make([]byte, max(1, min(body, chunkBytes)))); err != nil {
		return err
	}
	if sealPrefix+hex.EncodeToString(hash.Sum(nil)) != string(header) {
		return errors.New("its checksum is not that of its contents")
	}
	return nil
}

// entries returns the files of the zip by name, none compressed or larger than the file itself.
func entries(z *zip.Reader, size int64) (map[string]*zip.File, error) {
	files := make(map[string]*zip.File, len(z.File))
	var total uint64
	for _, f := range z.File {
		if f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 {
			return nil, fmt.Errorf("%s is compressed", strconv.Quote(f.Name))
		}
		if total += f.UncompressedSize64; f.UncompressedSize64 > uint64(size) || total > uint64(size) {
			return nil, fmt.Errorf("%s is larger than the file", strconv.Quote(f.Name))
		}
		if files[f.Name] != nil {
			return nil, fmt.Errorf("%s is there twice", strconv.Quote(f.Name))
		}
		files[f.Name] = f
	}
	return files, nil
}

func readIndex(f *zip.File) (x index, err error) {
	if f == nil {
		return x, errors.New("it has no " + indexName)
	}
	if f.UncompressedSize64 > uint64(maxIndexBytes) {
		return x, fmt.Errorf("%s has %d bytes", indexName, f.UncompressedSize64)
	}
	r, err := f.Open()
	if err != nil {
		return x, err
	}
	defer r.Close()
	doc := make([]byte, f.UncompressedSize64) // a grown buffer takes more
	if _, err := io.ReadFull(r, doc); err != nil {
		return x, err
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF { // the zip compares its checksum at the end
		return x, fmt.Errorf("no end after %s: %w", indexName, err)
	}
	if n := nested(doc); n > max(maxNested, len(doc)/bytesPerNested) {
		return x, fmt.Errorf("%s has %d lists and objects in %d bytes", indexName, n, len(doc))
	}
	var head struct {
		Format *int     `json:"format"`
		State  rawValue `json:"state"`
	}
	if err := json.Unmarshal(doc, &head); err != nil {
		return x, fmt.Errorf("%s: %w", indexName, err)
	}
	switch {
	case head.Format == nil || *head.Format < 1:
		return x, fmt.Errorf("%s has no format version", indexName)
	case *head.Format > format:
		return x, fmt.Errorf("%w: its format is %d, this program reads up to %d", ErrNewer, *head.Format, format)
	}
	d := json.NewDecoder(without(doc, head.State))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil {
		return x, fmt.Errorf("%s: %w", indexName, err)
	}
	if len(head.State) > 0 {
		if err := x.State.UnmarshalJSON(head.State); err != nil {
			return x, fmt.Errorf("%s: %w", indexName, err)
		}
	}
	return x, x.checkLengths()
}

// rawValue is a value of a JSON text, as part of that text: a [json.RawMessage] is a copy, and a state
// may be most of an index.
type rawValue []byte

// UnmarshalJSON stores the text.
func (r *rawValue) UnmarshalJSON(text []byte) error { *r = text; return nil }

// without returns the text with {} in place of the value, which a decoder would copy.
func without(doc []byte, value rawValue) io.Reader {
	at := cap(doc) - cap(value)
	if len(value) == 0 || at < 0 || at+len(value) > len(doc) || &doc[at] != &value[0] { // no part of doc
		return bytes.NewReader(doc)
	}
	return io.MultiReader(bytes.NewReader(doc[:at]), strings.NewReader("{}"), bytes.NewReader(doc[at+len(value):]))
}

// An index may contain maxNested lists and objects, or one per bytesPerNested of its bytes: empty
// ones take much more memory than their two bytes of text.
const (
	maxNested      = 1 << 16
	bytesPerNested = 8
)

// nested counts the lists and objects in a JSON text.
func nested(doc []byte) (n int) {
	inString := false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '['):
			n++
		}
	}
	return n
}

// scalars are the scalars of a state. After reading, each has one of the types of an [Archive], at
// any depth.
type scalars map[string]any

// UnmarshalJSON parses one value at a time, so that the memory of each is bounded by its length.
func (s *scalars) UnmarshalJSON(text []byte) error {
	var raw map[string]rawValue
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*s = make(scalars, len(raw))
	for name, v := range raw {
		value, err := plainScalar(v)
		if err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		(*s)[name] = value
	}
	return nil
}

func plainScalar(text []byte) (any, error) {
	if text[0] != '[' {
		if text[0] == '{' {
			return nil, errors.New("is no scalar")
		}
		var v any
		err := json.Unmarshal(text, &v)
		if v == nil && err == nil {
			return []string(nil), nil
		}
		return v, err
	}
	n, ok := stringCount(text)
	list := make([]string, 0, n) // a grown list takes more
	if err := json.Unmarshal(text, &list); err != nil || !ok {
		return nil, errors.New("must be a list of strings")
	}
	return list, nil
}

// stringCount counts the strings in a JSON text, and reports whether it has no null outside of them, which
// decodes to an empty string.
func stringCount(text []byte) (n int, ok bool) {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			if inString = !inString; inString {
				n++
			}
		case !inString && c == 'n':
			return 0, false
		}
	}
	return n, true
}

func readArray(f *zip.File, e arrayEntry) (Array, error) {
	if len(e.Shape) == 0 || len(e.Shape) > maxDims {
		return Array{}, fmt.Errorf("it has %d dimensions", len(e.Shape))
	}
	r, err := f.Open()
	if err != nil {
		return Array{}, err
	}
	defer r.Close()
	a, err := readNpy(r, int64(f.UncompressedSize64), e.Type, e.Shape)
	if err != nil {
		return a, err
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n != 0 || err != io.EOF { // the zip compares its checksum at the end
		return a, fmt.Errorf("no end after its numbers: %w", err)
	}
	return a, nil
}
