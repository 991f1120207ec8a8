package reader

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// ReadOnce reports whether the path can be read only once: standard input, a pipe, a device.
func ReadOnce(path string) bool {
	if isDescriptor(path) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// isDescriptor reports whether the path is a descriptor that the process inherits, so a writer
// exists: standard input, or <(…) of a shell.
func isDescriptor(path string) bool {
	return path == StandardInput || path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/")
}

// Stream is a file system of one input that can be read only once. Readers open a file for its
// header and again for its rows, so bytes are buffered for the next reader until the last pass
// starts.
type Stream struct {
	ctx    context.Context // cancels waiting for input
	parts  chan part
	done   chan struct{}
	buffer []byte
	err    error // read error, after the buffer
	last   bool  // whether the next pass is the last one
	passed bool  // whether the last pass has started
}

// part is the result of one read of the input.
type part struct {
	text []byte
	err  error
}

// NewStream starts reading the input at path.
func NewStream(ctx context.Context, path string, input io.Reader) *Stream {
	s := &Stream{ctx: ctx, parts: make(chan part), done: make(chan struct{})}
	open := func() (io.ReadCloser, error) { return os.Open(path) } // which waits for the writer of a pipe
	if path == StandardInput {
		if input == nil {
			input = os.Stdin
		}
		open = func() (io.ReadCloser, error) { return io.NopCloser(input), nil }
	}
	go s.pump(open)
	return s
}

// pump reads ahead by one part. The two buffers take turns: when one is handed over the reader has
// copied the other.
func (s *Stream) pump(open func() (io.ReadCloser, error)) {
	in, err := open()
	if err != nil {
		s.send(part{err: err})
		return
	}
	defer in.Close()
	var buffers [2][64 << 10]byte
	for k := 0; ; k = 1 - k {
		n, err := in.Read(buffers[k][:])
		if !s.send(part{buffers[k][:n], err}) || err != nil {
			return
		}
	}
}

// send passes on a part, unless the reader has closed.
func (s *Stream) send(p part) bool {
	select {
	case s.parts <- p:
		return true
	case <-s.done:
		return false
	}
}

// Close stops reading.
func (s *Stream) Close() { close(s.done) }

// LastPass declares the next pass the last one, which empties the buffer.
func (s *Stream) LastPass() { s.last = true }

// Open starts a pass.
func (s *Stream) Open(name string) (fs.File, error) {
	if s.passed {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it can be read just once")}
	}
	s.passed = s.last
	return &pass{Stream: s, name: name}, nil
}

// more waits for the next part.
func (s *Stream) more() error {
	if s.err != nil {
		return s.err
	}
	select {
	case p := <-s.parts:
		s.buffer, s.err = append(s.buffer, p.text...), p.err
		return nil
	case <-s.ctx.Done():
		return ctxerr.Check(s.ctx)
	}
}

// pass reads a stream from its beginning.
type pass struct {
	*Stream
	name string
	at   int // of the bytes in the buffer
}

func (p *pass) Read(b []byte) (int, error) {
	for p.at == len(p.buffer) {
		if p.last {
			p.buffer, p.at = p.buffer[:0], 0
		}
		if err := p.more(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.buffer[p.at:])
	p.at += n
	return n, nil
}

func (p *pass) Close() error               { return nil }
func (p *pass) Stat() (fs.FileInfo, error) { return pipe(p.name), nil }

// pipe is the file info of a stream.
type pipe string

func (p pipe) Name() string     { return string(p) }
func (pipe) Size() int64        { return 0 }
func (pipe) Mode() fs.FileMode  { return fs.ModeNamedPipe }
func (pipe) ModTime() time.Time { return time.Time{} }
func (pipe) IsDir() bool        { return false }
func (pipe) Sys() any           { return nil }
