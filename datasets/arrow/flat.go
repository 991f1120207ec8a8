package arrow

import (
	"encoding/binary"
	"errors"
)

// flat reads tables of FlatBuffers, in which the format describes itself. What is outside of the bytes is
// 0, and stays a mistake.
//
// Layout: https://flatbuffers.dev/internals/
type flat struct {
	data  []byte
	wrong bool
}

var errFlat = errors.New("damaged: what it says of itself points out of itself")

// has reports whether n bytes are at a place.
func (f *flat) has(at, n int) bool {
	if at < 0 || n < 0 || at > len(f.data) || n > len(f.data)-at {
		f.wrong = true
		return false
	}
	return true
}

func (f *flat) byte(at int) byte {
	if !f.has(at, 1) {
		return 0
	}
	return f.data[at]
}

func (f *flat) int16(at int) int {
	if !f.has(at, 2) {
		return 0
	}
	return int(int16(binary.LittleEndian.Uint16(f.data[at:])))
}

func (f *flat) int32(at int) int {
	if !f.has(at, 4) {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(f.data[at:])))
}

func (f *flat) int64(at int) int64 {
	if !f.has(at, 8) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(f.data[at:]))
}

// follow returns the place that an offset points to.
func (f *flat) follow(at int) int { return at + int(uint32(f.int32(at))) }

// table is a table at a place; its fields are known by number.
type table struct {
	*flat
	at int
}

// root returns the outermost table.
func (f *flat) root() table { return table{f, f.follow(0)} }

// field returns the place of a field, 0 for one that is not there.
func (t table) field(n int) int {
	if t.at == 0 {
		return 0
	}
	fields := t.at - t.flat.int32(t.at)
	size := t.flat.int16(fields)
	if 4+2*n+2 > size {
		return 0
	}
	offset := t.flat.int16(fields + 4 + 2*n)
	if offset == 0 {
		return 0
	}
	return t.at + int(uint16(offset))
}

func (t table) byteOf(n int) byte {
	if at := t.field(n); at != 0 {
		return t.flat.byte(at)
	}
	return 0
}

func (t table) int16Of(n, otherwise int) int {
	if at := t.field(n); at != 0 {
		return t.flat.int16(at)
	}
	return otherwise
}

func (t table) int32Of(n, otherwise int) int {
	if at := t.field(n); at != 0 {
		return t.flat.int32(at)
	}
	return otherwise
}

func (t table) int64Of(n int) int64 {
	if at := t.field(n); at != 0 {
		return t.flat.int64(at)
	}
	return 0
}

// tableOf returns a table in a field; one that is not there has no fields.
func (t table) tableOf(n int) table {
	if at := t.field(n); at != 0 {
		return table{t.flat, t.flat.follow(at)}
	}
	return table{t.flat, 0}
}

func (t table) textOf(n int) string {
	at, size := t.listOf(n, 1)
	return string(t.data[at : at+size])
}

// listOf returns the place of the first element of a list in a field, and how many there are of so many
// bytes each.
func (t table) listOf(n, size int) (at, count int) {
	field := t.field(n)
	if field == 0 {
		return 0, 0
	}
	at = t.flat.follow(field)
	count = int(uint32(t.flat.int32(at)))
	if !t.flat.has(at+4, count*size) {
		return 0, 0
	}
	return at + 4, count
}

// tablesOf calls see with every table of a list.
func (t table) tablesOf(n int, see func(t table)) {
	at, count := t.listOf(n, 4)
	for k := range count {
		if t.flat.wrong {
			return
		}
		see(table{t.flat, t.flat.follow(at + 4*k)})
	}
}
