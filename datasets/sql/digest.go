package sql

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Transactional reports whether the database isolates the snapshot from concurrent writes.
func (s *Snapshot) Transactional() bool { return s.tx != nil }

// Digest returns the hexadecimal SHA-256 hash of the rows of queries in their order: of the column
// names and of every value as a string, times in UTC. It runs each query once.
func (s *Snapshot) Digest(ctx context.Context, queries ...Query) (string, error) {
	sum := rowHash{hash: sha256.New()}
	for _, one := range queries {
		q := &query{Query: one, of: s}
		q.form.Name = one.name()
		if err := q.digest(ctx, &sum); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.hash.Sum(nil)), nil
}

func (q *query) digest(ctx context.Context, sum *rowHash) error {
	rows, end, err := q.run(ctx)
	if err != nil {
		return err
	}
	defer end()
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return q.queryError(ctx, err)
	}
	sum.Scan(strings.Join(names, "\x00"))
	dest := make([]any, len(names))
	for j := range dest {
		dest[j] = sum
	}
	for n := 0; rows.Next(); n++ {
		if n%(1<<12) == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		if err := rows.Scan(dest...); err != nil {
			return q.queryError(ctx, err)
		}
	}
	if err := rows.Err(); err != nil {
		return q.queryError(ctx, err)
	}
	return ctxerr.Check(ctx)
}

// rowHash takes values into a sum.
type rowHash struct {
	hash hash.Hash
	buf  []byte
}

// Scan takes a value: how long its text is, which of NULL is more than any can be, and the text.
func (s *rowHash) Scan(src any) error {
	s.buf = append(s.buf[:0], make([]byte, 8)...)
	length := uint64(math.MaxUint64)
	if src != nil {
		text, err := appendString(s.buf, src, true)
		if err != nil {
			text = fmt.Append(s.buf, src) // of an unsupported column
		}
		s.buf, length = text, uint64(len(text)-8)
	}
	binary.LittleEndian.PutUint64(s.buf, length)
	s.hash.Write(s.buf)
	return nil
}
