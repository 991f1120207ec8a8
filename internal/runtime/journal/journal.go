// Package journal records the progress of a search in a line-based file: a header, which identifies
// the search, and an entry for each piece of work, in order of completion. A line is JSON, a space
// and the CRC-32 of the JSON in hexadecimal. Each line is written by a single call, so that a
// killed process leaves at most the last line incomplete. Lines are flushed to disk about once a
// second. [Sum] returns the short strings by which headers identify rows and specs.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Journal is a journal file open for appending. A nil Journal discards entries.
type Journal struct {
	file   *os.File
	synced time.Time
}

// Head identifies a search.
type Head struct {
	Journal string            `json:"journal"` // kind of search
	Version int               `json:"version"` // of the format of its entries
	Sums    map[string]string `json:"sums"`    // by name, of all that makes a difference to scores
}

// Number is a number whose JSON reads back bit for bit; that of NaN and of infinite numbers is
// null, which reads as NaN.
type Number float64

// MarshalJSON writes the number.
func (v Number) MarshalJSON() ([]byte, error) {
	if v-v != 0 {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(v), 'g', -1, 64), nil
}

// UnmarshalJSON reads the number.
func (v *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(v))
}

// ErrForeign is of a file that is no journal.
var ErrForeign = errors.New("this is not the journal of a search; move it or remove it")

// ErrOther is in the chain of the error where a journal is of another search.
var ErrOther = errors.New("it is of another search")

// errDamaged reports a line with a wrong checksum.
var errDamaged = errors.New("its checksum is wrong")

// maxHead is an upper bound of the size of a head, in bytes. A longer first line is not read
// further, because its size is unbounded.
const maxHead = 4096

// Open opens the journal of a search at a path, and creates it if it does not exist. It passes
// every line but the head to replay. A torn last line is dropped. If the journal is of another
// search, or replay returns an error, the file is unchanged.
func Open(path string, head Head, replay func(line []byte) error) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{file: file, synced: time.Now()}
	if err := j.resume(head, replay); err != nil {
		file.Close()
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, nil
}

func (j *Journal) resume(head Head, replay func(line []byte) error) error {
	content, err := j.read()
	if err != nil {
		return err
	}
	first, err := json.Marshal(head)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	if whole == 0 { // an empty file, or a torn head
		if !bytes.HasPrefix(Seal(first), content) {
			return ErrForeign
		}
		if err := j.truncate(0); err != nil {
			return err
		}
		return j.line(first)
	}
	if err := Read(content[:whole], head, replay); err != nil {
		return err
	}
	return j.truncate(int64(whole))
}

// Read passes every line of a journal but the head to replay; the head must be of the same search.
func Read(content []byte, head Head, replay func(line []byte) error) error {
	lines := bytes.Split(bytes.TrimSuffix(content, []byte{'\n'}), []byte{'\n'})
	theirs, err := HeadOf(lines[0], head.Journal)
	if err == nil {
		err = head.matches(theirs)
	}
	if err != nil {
		return err
	}
	for i, line := range lines[1:] {
		entry, err := unseal(line)
		if err == nil {
			err = replay(entry)
		}
		if err != nil {
			return fmt.Errorf("line %d is damaged: %w; remove the file to start again", i+2, err)
		}
	}
	return nil
}

// HeadOf returns the head of a journal of the given kind.
func HeadOf(content []byte, kind string) (head Head, err error) {
	line, _, _ := bytes.Cut(content, []byte{'\n'})
	text, err := unseal(line)
	if err != nil || json.Unmarshal(text, &head) != nil || head.Journal != kind {
		return head, ErrForeign
	}
	return head, nil
}

// matches returns an error that names the difference to the head of another search.
func (h Head) matches(theirs Head) error {
	if theirs.Version != h.Version {
		return fmt.Errorf("format version must be %[2]d, got %[1]d; remove the file to start again", theirs.Version,
			h.Version)
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(h.Sums)) {
		if theirs.Sums[name] != h.Sums[name] {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("%w, which differs in %s; remove it to start again", ErrOther, strings.Join(differ, ", "))
	}
	return nil
}

func (j *Journal) read() ([]byte, error) {
	content := make([]byte, maxHead)
	n, err := io.ReadFull(j.file, content)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return content[:n], nil
	case err != nil:
		return nil, err
	case bytes.IndexByte(content, '\n') < 0:
		return nil, ErrForeign
	}
	rest, err := io.ReadAll(j.file)
	return append(content, rest...), err
}

func (j *Journal) truncate(size int64) error {
	if err := j.file.Truncate(size); err != nil {
		return err
	}
	_, err := j.file.Seek(size, io.SeekStart)
	return err
}

// Seal returns a line of the file: the text and its checksum.
func Seal(text []byte) []byte {
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.ChecksumIEEE(text))
}

// unseal returns the text of a line without its end, or an error if the checksum is wrong.
func unseal(line []byte) ([]byte, error) {
	at := bytes.LastIndexByte(line, ' ')
	if at < 0 || string(line[at+1:]) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(line[:at])) {
		return nil, errDamaged
	}
	return line[:at], nil
}

func (j *Journal) line(text []byte) error {
	if _, err := j.file.Write(Seal(text)); err != nil {
		return err
	}
	if time.Since(j.synced) < time.Second {
		return nil
	}
	j.synced = time.Now()
	return j.file.Sync()
}

// Write appends an entry.
func (j *Journal) Write(entry any) error {
	if j == nil {
		return nil
	}
	line, err := json.Marshal(entry)
	if err == nil {
		err = j.line(line)
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.file.Name(), err)
	}
	return nil
}

// Close flushes the file to the disk.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.file.Sync(), j.file.Close())
}

// Decode decodes an entry from its line and rejects unknown keys.
func Decode(line []byte, entry any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(entry)
}
