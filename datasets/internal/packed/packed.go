// Package packed unpacks what is packed in typed files: pages of Parquet, buffers of Arrow.
//
// A size that a file claims is believed as far as the packed bytes could have it, and beyond that memory
// grows with what has been unpacked.
package packed

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Method is a way to pack.
type Method int

// The ways to pack. LZ4Block has no frame around it, LZ4Frame has.
const (
	None Method = iota
	Snappy
	Gzip
	Zstd
	LZ4Block
	LZ4Frame
)

// believed is how many bytes are made room for because a file says so.
const believed = 1 << 22

// Unpack returns the bytes that packed stands for, size by what the file says, in room where that is
// large enough. It is a mistake of the file if they are fewer or more.
func Unpack(m Method, packed []byte, size int, room []byte) ([]byte, error) {
	if size < 0 {
		return nil, fmt.Errorf("packed bytes that would be %d unpacked", size)
	}
	switch m {
	case None:
		if len(packed) != size {
			return nil, fmt.Errorf("%d bytes, wanted %d", len(packed), size)
		}
		return packed, nil
	case Snappy:
		n, err := snappy.DecodedLen(packed)
		if err != nil || n != size || size > believed && size/64 > len(packed) { // three bytes stand for at most 64
			return nil, fmt.Errorf("damaged: snappy says %d bytes, wanted %d", n, size)
		}
		return whole(snappy.Decode(Room(room, size), packed))
	case LZ4Block:
		if size > believed && size/256 > len(packed) { // a byte stands for at most 255
			return nil, fmt.Errorf("damaged: %d bytes of lz4 are no %d unpacked", len(packed), size)
		}
		out := Room(room, size)
		n, err := lz4.UncompressBlock(packed, out)
		if err != nil || n != size {
			return nil, fmt.Errorf("damaged: %d bytes of lz4, wanted %d: %v", n, size, err)
		}
		return out, nil
	case Gzip:
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, fmt.Errorf("damaged: %w", err)
		}
		return read(r, size, room)
	case LZ4Frame:
		return read(lz4.NewReader(bytes.NewReader(packed)), size, room)
	case Zstd:
		if size <= believed || size/64 <= len(packed) {
			return unpackZstd(packed, size, room)
		}
		r, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("damaged: %w", err)
		}
		defer r.Close()
		return read(r, size, room)
	}
	return nil, fmt.Errorf("there is no method %d to unpack", m)
}

// Room returns size bytes, of room where that is large enough.
func Room(room []byte, size int) []byte {
	if cap(room) < size {
		return make([]byte, size)
	}
	return room[:size]
}

func whole(out []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return out, nil
}

// read reads size bytes and the end behind them.
func read(r io.Reader, size int, room []byte) ([]byte, error) {
	out := Room(room, min(size, max(cap(room), believed)))
	for done := 0; ; {
		n, err := io.ReadFull(r, out[done:])
		if done += n; err != nil {
			return nil, fmt.Errorf("damaged: %d bytes, wanted %d: %w", done, size, err)
		}
		if done == size {
			break
		}
		more := make([]byte, min(size, 2*len(out)))
		copy(more, out)
		out = more
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, fmt.Errorf("damaged: more than the %d bytes wanted", size)
	}
	return out, nil
}

// maxWindow bounds what the unpacking of zstd looks back on.
const maxWindow = 1 << 27

var sharedZstd = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
})

// unpackZstd unpacks into exactly the room that there is.
func unpackZstd(packed []byte, size int, room []byte) ([]byte, error) {
	d, err := sharedZstd()
	if err != nil {
		return nil, err
	}
	out := Room(room, size)
	out, err = d.DecodeAll(packed, out[:0:size])
	if err == nil && len(out) != size {
		err = fmt.Errorf("%d bytes, wanted %d", len(out), size)
	}
	return whole(out, err)
}
