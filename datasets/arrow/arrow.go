// Package arrow reads Apache Arrow's formats for files and for streams between programs (IPC, Feather): as a
// stream of blocks with [Open], whatever their size, or into memory with [ReadFile] or, from any
// io.Reader, [Read].
//
// A column of rows is a column of the schema: numbers of any size, with a sign or without, and decimals, whole
// numbers beyond 2^53 and decimals rounded to the nearest float64 as in a file of text, but not in their
// names where they are categories; truths; texts, with a dictionary or without; dates and times, which
// Roles.Dates takes apart, those with a zone by their time in UTC. A list of one size, say v, of numbers is the
// columns v_0, v_1, … Other lists, maps, structures, unions, durations and times of day are no columns;
// Roles.Drop leaves them out. A null, NaN, an empty text and "NaN" are missing values. Batches may be packed by
// lz4 or zstd.
//
// Of a file only the columns in use are read, several at once; where nothing is packed memory does not grow
// with its batches either. A stream that comes through a pipe is read in its order, and holds a batch at a
// time. The number of rows of a file is known without reading any.
//
// Format: https://arrow.apache.org/docs/format/Columnar.html
package arrow

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/formats"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	columnar "github.com/bochner-ml/bochner/datasets/internal/table"
)

func init() {
	formats.Register("arrow", func(ctx context.Context, fsys fs.FS, paths []string, roles datasets.Roles) (datasets.Source, error) {
		return OpenFiles(ctx, paths, Options{Roles: roles, FS: fsys})
	})
}

// Options say what the columns are for. The zero value makes all of them inputs.
type Options struct {
	datasets.Roles

	FS fs.FS // where the file is; nil is the machine's own file system
}

// Open returns the rows of the file at path, in the format of files or of streams, as a source that reads the
// file anew for every pass. Without Options.Schema it reads the columns of texts once, to learn their
// categories, and the target, weights and groups to check them.
func Open(ctx context.Context, path string, o Options) (datasets.Source, error) {
	f, err := open(steady.New(o.FS, path))
	if err != nil {
		return nil, err
	}
	return columnar.OpenColumns(ctx, f, o.Roles)
}

// OpenFiles returns the rows of several files, one after the other, as [Open] returns those of one file that has
// them all. The files have the same columns, in any order. [datasets.Files] lists the files of a folder or a
// pattern.
func OpenFiles(ctx context.Context, paths []string, o Options) (datasets.Source, error) {
	f, err := columnar.SeveralColumns(paths, func(path string) (columnar.Columnar, error) { return open(steady.New(o.FS, path)) })
	if err != nil {
		return nil, err
	}
	return columnar.OpenColumns(ctx, f, o.Roles)
}

// ReadFile returns the rows of the file at path.
func ReadFile(ctx context.Context, path string, o Options) (datasets.Set, error) {
	src, err := Open(ctx, path, o)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Gather(ctx, src)
}

// Read returns the rows of a file or a stream that comes from r, all of which it holds until it has the rows. Errors
// call it by the name of r, where that has one as an os.File has, else "input".
func Read(ctx context.Context, r io.Reader, o Options) (datasets.Set, error) {
	held, err := steady.Hold(ctx, r)
	if err != nil {
		return datasets.Set{}, err
	}
	f, err := open(held)
	if err != nil {
		return datasets.Set{}, err
	}
	src, err := columnar.OpenColumns(ctx, f, o.Roles)
	if err != nil {
		return datasets.Set{}, err
	}
	return datasets.Gather(ctx, src)
}

// file is a columnar.Columnar.
type file struct {
	bytes  *steady.File
	path   string
	form   columnar.ColumnForm
	schema *schema
	places []place
	blocks []block // of a file that can be read at any place: dictionaries and batches, in order
}

// block is where a message of a file is.
type block struct {
	kind     int
	at       int64 // of the message
	metadata int64 // bytes of what it says
	body     int64
}

func open(of *steady.File) (*file, error) {
	f := &file{bytes: of, path: of.Path()}
	b, err := f.bytes.Open()
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := f.list(b); err != nil {
		return nil, f.fault(err)
	}
	f.form.Name = f.path
	f.form.Columns, f.places = f.schema.columns()
	return f, nil
}

func (f *file) ColumnForm() columnar.ColumnForm { return f.form }

// fault returns an error about the file.
func (f *file) fault(err error) error {
	var at *datasets.LineError
	if errors.As(err, &at) {
		return err
	}
	return &datasets.LineError{File: f.path, Err: err}
}

const fileMagic = "ARROW1"

// list reads the schema and, of a file that can be read at any place, where its batches are.
func (f *file) list(b *steady.Bytes) error {
	f.form.Rows = -1
	s := stream{in: b}
	if err := s.magic(); err != nil {
		return err
	}
	var err error
	if s.file && b.At != nil {
		f.schema, f.blocks, err = footer(b)
	} else if err = s.begin(); err == nil {
		f.schema = s.schema
		if b.At == nil {
			return nil
		}
		f.blocks, err = s.walk()
	}
	if err != nil {
		return err
	}
	return f.count(b)
}

// count finds out how many rows the batches have.
func (f *file) count(b *steady.Bytes) error {
	rows := int64(0)
	for k := range f.blocks {
		if f.blocks[k].kind != isBatch {
			continue
		}
		m, err := f.blocks[k].message(b)
		if err != nil {
			return err
		}
		n := m.header.int64Of(0)
		if n < 0 || n > math.MaxInt64/4-rows || m.header.wrong {
			return errFlat
		}
		rows += n
	}
	f.form.Rows = int(rows)
	return nil
}

// walk finds the messages of a stream behind the schema.
func (s *stream) walk() ([]block, error) {
	var out []block
	for {
		m, err := s.next()
		if err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, block{m.kind, s.last, s.at - s.last, m.size})
		if err := s.skip(m); err != nil {
			return nil, err
		}
	}
}

// footer reads the schema of a file, and where its dictionaries and batches are.
func footer(b *steady.Bytes) (*schema, []block, error) {
	f, err := readFooter(b)
	if err != nil {
		return nil, nil, err
	}
	t := f.root()
	s, err := readSchema(t.tableOf(1), t.int16Of(0, 0))
	if err != nil {
		return nil, nil, err
	}
	var out []block
	for field, kind := range map[int]int{2: isDictionary, 3: isBatch} {
		at, count := t.listOf(field, 24)
		for k := range count {
			one := block{kind, f.int64(at + 24*k), int64(f.int32(at + 24*k + 8)), f.int64(at + 24*k + 16)}
			if one.at < 0 || one.metadata < 0 || one.body < 0 || one.at > b.Size || one.metadata > b.Size-one.at || one.body > b.Size-one.at-one.metadata {
				return nil, nil, errors.New("damaged: the footer names batches outside of the file; it may be cut off")
			}
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b block) int { return cmp.Compare(a.kind, b.kind) }) // dictionaries first
	if f.wrong {
		return nil, nil, errFlat
	}
	return s, out, nil
}

// readFooter reads what stands at the end of a file.
func readFooter(b *steady.Bytes) (*flat, error) {
	tail := make([]byte, 10)
	if b.Size < 28 {
		return nil, errCut
	}
	if _, err := b.At.ReadAt(tail, b.Size-10); err != nil {
		return nil, err
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail)))
	if string(tail[4:]) != fileMagic {
		return nil, fmt.Errorf("%w: it begins as a file of Arrow does, and does not end so", errCut)
	}
	if n < 4 || n > b.Size-18 || n > maxMessage {
		return nil, fmt.Errorf("damaged: a footer of %d bytes in a file of %d", n, b.Size)
	}
	f := &flat{data: make([]byte, n)}
	_, err := b.At.ReadAt(f.data, b.Size-10-n)
	return f, err
}

// stream reads message after message.
type stream struct {
	in     *steady.Bytes
	schema *schema
	at     int64 // of the bytes read, where they can be read at any place
	last   int64 // of the message at hand
	file   bool  // whether it is in the format of files
	begun  bool
}

// magic looks whether it is in the format of files, and goes behind the word that says so.
func (s *stream) magic() error {
	head := make([]byte, 8)
	if s.in.At != nil {
		if n, err := s.in.At.ReadAt(head, 0); n < 8 && err != nil {
			return errNotArrow
		}
		if s.file = string(head[:6]) == fileMagic; s.file {
			s.at = 8
		}
	} else {
		start, err := s.in.Peek(8)
		if len(start) < 8 {
			if err != nil && err != io.EOF {
				return err
			}
			return errNotArrow
		}
		if s.file = string(start[:6]) == fileMagic; s.file {
			if err := s.in.Discard(8); err != nil {
				return cut(err)
			}
		}
	}
	return nil
}

// begin reads up to the schema.
func (s *stream) begin() error {
	m, err := s.next()
	switch {
	case s.file && (err != nil || m.kind != isSchema):
		return errors.New("a file of which only its end tells what is in it, wanted a regular file that is not packed, or a stream")
	case err == io.EOF || err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) || err == nil && m.kind != isSchema:
		return errNotArrow
	case err != nil:
		return err
	}
	s.begun = true
	if s.schema, err = readSchema(m.header, m.version); err != nil {
		return err
	}
	return s.skip(m)
}

// next reads the next message up to its body.
func (s *stream) next() (*message, error) {
	if s.in.At == nil {
		m, _, err := readMessage(s.in, -1)
		if err == io.EOF && s.file && s.begun {
			return nil, io.EOF
		}
		return m, err
	}
	s.last = s.at
	left := s.in.Size - s.at
	m, took, err := readMessage(io.NewSectionReader(s.in.At, s.at, left), left)
	if err != nil {
		return nil, err
	}
	s.at += took
	m.at = s.at
	if m.size > s.in.Size-s.at {
		return nil, fmt.Errorf("%w: %d bytes, a batch ends at %d", errCut, s.in.Size, s.at+m.size)
	}
	return m, nil
}

// skip passes over the body of a message.
func (s *stream) skip(m *message) error {
	if s.in.At != nil {
		s.at += m.size
		return nil
	}
	if err := s.in.Discard(m.size); err != nil {
		return cut(err)
	}
	return nil
}

// message reads a message whose place is known.
func (b *block) message(in *steady.Bytes) (*message, error) {
	m, _, err := readMessage(io.NewSectionReader(in.At, b.at, b.metadata), b.metadata)
	if err == io.EOF {
		return nil, errCut
	} else if err != nil {
		return nil, err
	}
	m.at = b.at + b.metadata
	if m.kind != b.kind || m.size != b.body {
		return nil, datasets.ErrChanged
	}
	return m, nil
}
