package parquet

import (
	"encoding/binary"
	"errors"
)

var errCut = errors.New("damaged: its values end before their time")

// runs reads small whole numbers of so many bits each, in runs of one value or packed side by side.
//
// Encoding: https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE
type runs struct {
	data   []byte
	width  int
	left   int    // values of the run at hand
	value  uint32 // of a run of one value
	packed bool
	bit    int // of the next packed value
}

// begin goes to the next run.
func (r *runs) begin() error {
	if r.packed {
		r.data, r.packed = r.data[min((r.bit+7)/8, len(r.data)):], false
	}
	head, n := binary.Uvarint(r.data)
	if n <= 0 || head>>1 == 0 || head>>1 > 1<<31 {
		return errCut
	}
	r.data = r.data[n:]
	if head&1 == 1 {
		r.left, r.packed, r.bit = int(head>>1)*8, true, 0
		if most := len(r.data) * 8; r.width > 0 {
			r.left = min(r.left, most/r.width) // the last ones may be left out where they stand for nothing
		}
		if r.left == 0 {
			return errCut
		}
		return nil
	}
	bytes := (r.width + 7) / 8
	if len(r.data) < bytes {
		return errCut
	}
	r.left, r.value = int(head>>1), 0
	for k := range bytes {
		r.value |= uint32(r.data[k]) << (8 * k)
	}
	r.data = r.data[bytes:]
	return nil
}

// take returns how many of the next values, at most so many, come from one run, and whether they are all of
// one value.
func (r *runs) take(most int) (n int, same bool, err error) {
	if r.left == 0 {
		if err := r.begin(); err != nil {
			return 0, false, err
		}
	}
	return min(most, r.left), !r.packed, nil
}

// next writes the next values.
func (r *runs) next(out []uint32) error {
	for len(out) > 0 {
		n, same, err := r.take(len(out))
		if err != nil {
			return err
		}
		if same {
			for i := range n {
				out[i] = r.value
			}
		} else {
			r.unpack(out[:n])
		}
		r.left -= n
		out = out[n:]
	}
	return nil
}

// unpack writes packed values, which are there.
func (r *runs) unpack(out []uint32) {
	mask := uint64(1)<<r.width - 1
	for i := range out {
		at := r.bit / 8
		var word uint64
		if at+8 <= len(r.data) {
			word = binary.LittleEndian.Uint64(r.data[at:])
		} else {
			for k, b := range r.data[at:] {
				word |= uint64(b) << (8 * k)
			}
		}
		out[i] = uint32(word >> (r.bit % 8) & mask)
		r.bit += r.width
	}
}

// deltas reads whole numbers by their differences.
//
// Encoding: https://parquet.apache.org/docs/file-format/data-pages/encodings/#DELTAENC
type deltas struct {
	data   []byte
	left   int    // values
	last   int64  // the next value, or the one before it
	mini   int    // values of a miniblock
	minis  int    // miniblocks of a block
	least  int64  // of the differences of the block
	widths []byte // of its miniblocks
	at     int    // the miniblock at hand
	inMini int    // values left in it
	bit    int    // of the next difference, from the beginning of the data
	first  bool   // whether the first value is still to come
}

// newDeltas reads the beginning.
func newDeltas(data []byte) (*deltas, error) {
	d := &deltas{data: data, first: true}
	block, minis, total := d.varint(), d.varint(), d.varint()
	d.last = d.zigzag()
	if d.data == nil || block == 0 || block > 1<<20 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 || total > 1<<31 {
		return nil, errors.New("damaged: differences that begin with what cannot be")
	}
	d.mini, d.minis, d.left = int(block/minis), int(minis), int(total)
	d.at, d.inMini = d.minis, 0
	return d, nil
}

func (d *deltas) varint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.data = nil
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *deltas) zigzag() int64 {
	v := d.varint()
	return int64(v>>1) ^ -int64(v&1)
}

// next returns the next value.
func (d *deltas) next() (int64, error) {
	if d.left == 0 {
		return 0, errCut
	}
	d.left--
	if d.first {
		d.first = false
		return d.last, nil
	}
	if d.inMini == 0 {
		if err := d.begin(); err != nil {
			return 0, err
		}
	}
	d.inMini--
	width := int(d.widths[d.at])
	d.last += d.least + int64(d.difference(width))
	return d.last, nil
}

// begin goes to the next miniblock, and perhaps to the next block.
func (d *deltas) begin() error {
	if d.at+1 < d.minis {
		d.data = d.data[int(d.widths[d.at])*d.mini/8:]
		d.at++
	} else {
		if d.widths != nil {
			d.data = d.data[int(d.widths[d.at])*d.mini/8:]
		}
		d.least = d.zigzag()
		if len(d.data) < d.minis {
			return errCut
		}
		d.widths, d.data, d.at = d.data[:d.minis], d.data[d.minis:], 0
	}
	width := int(d.widths[d.at])
	if width > 64 || len(d.data) < width*d.mini/8 {
		return errCut
	}
	d.inMini, d.bit = d.mini, 0
	return nil
}

// difference returns the next one, beyond the least.
func (d *deltas) difference(width int) (out uint64) {
	for got := 0; got < width; {
		at, shift := d.bit/8, d.bit%8
		n := min(8-shift, width-got)
		out |= uint64(d.data[at]>>shift&(1<<n-1)) << got
		got += n
		d.bit += n
	}
	return out
}

// end passes over all values and returns what is behind them.
func (d *deltas) end() ([]byte, error) {
	for d.left > 0 {
		if d.first {
			d.first = false
			d.left--
			continue
		}
		if d.inMini == 0 {
			if err := d.begin(); err != nil {
				return nil, err
			}
		}
		n := min(d.inMini, d.left)
		d.inMini, d.left = d.inMini-n, d.left-n
	}
	if d.widths == nil {
		return d.data, nil
	}
	return d.data[int(d.widths[d.at])*d.mini/8:], nil
}
