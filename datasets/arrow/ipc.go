package arrow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/bochner-ml/bochner/datasets/internal/guard"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
)

const fileMagic = "ARROW1"

var (
	errNotArrow = errors.New("not a file nor a stream of Arrow")
	errCut      = errors.New("it is cut off")
)

// ipcReader is a file or a stream that is being read.
type ipcReader struct {
	bytes  *steady.Bytes
	schema *arrow.Schema
	next   func() (arrow.RecordBatch, error)
	close  func()
	rows   int64 // -1 if unknown before a pass
}

// openIPC opens a file or a stream.
func openIPC(of *steady.File) (o *ipcReader, err error) {
	b, err := of.Open()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	defer guard.Recover(&err)
	head, err := b.Peek(8)
	if err != nil && err != io.EOF {
		return nil, err
	}
	file := len(head) == 8 && string(head[:6]) == fileMagic
	o = &ipcReader{bytes: b, rows: -1}
	if file && b.At != nil {
		return o, o.openFile()
	}
	if file {
		if err := b.Discard(8); err != nil {
			return nil, err
		}
	}
	return o, o.openStream(file)
}

// openFile opens a file by its footer.
func (o *ipcReader) openFile() (err error) {
	if o.rows, err = checkFile(o.bytes.At, o.bytes.Size); err != nil {
		return err
	}
	r, err := ipc.NewFileReader(io.NewSectionReader(o.bytes.At, 0, o.bytes.Size), ipc.WithAllocator(&allocator{}))
	if err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	o.schema, o.close = r.Schema(), func() { r.Close() }
	at := 0
	o.next = func() (arrow.RecordBatch, error) {
		if at == r.NumRecords() {
			return nil, io.EOF
		}
		at++
		return r.RecordBatch(at - 1)
	}
	return nil
}

// openStream opens a stream, or the messages before the footer of a file.
func (o *ipcReader) openStream(file bool) error {
	in := &checkedReader{in: o.bytes, most: math.MaxInt64}
	if o.bytes.At != nil {
		in.most = o.bytes.Size
	}
	r, err := ipc.NewReader(in, ipc.WithAllocator(&allocator{}))
	switch {
	case err != nil && file:
		return errors.New("file format must be read from the end: use a regular uncompressed file, or the stream format")
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil:
		return errNotArrow
	}
	o.schema, o.next, o.close = r.Schema(), r.Read, r.Release
	return nil
}

// Read returns the next batch.
func (o *ipcReader) Read() (b arrow.RecordBatch, err error) {
	defer guard.Recover(&err)
	if b, err = o.next(); err == io.EOF {
		return nil, cmp.Or(o.bytes.CheckUnchanged(), io.EOF)
	}
	if errors.Is(err, errCut) {
		return nil, errCut
	}
	return b, err
}

func (o *ipcReader) Close() error {
	o.close()
	return o.bytes.Close()
}

// allocator is the memory of decoders; it bounds the sizes that a file declares.
type allocator struct {
	memory.GoAllocator
	limit guard.MemoryLimit
}

func (a *allocator) Allocate(size int) []byte {
	a.limit.Reserve(size)
	return a.GoAllocator.Allocate(size)
}

func (a *allocator) Reallocate(size int, b []byte) []byte {
	if size > cap(b) {
		a.limit.Reserve(size)
		a.Free(b)
	}
	return a.GoAllocator.Reallocate(size, b)
}

func (a *allocator) Free(b []byte) { a.limit.Release(cap(b)) }
