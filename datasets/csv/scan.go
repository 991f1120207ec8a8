package csv

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"io"
)

// Scan calls yield with every record of the file at path, including the header, until the first
// error, which it returns. Records may differ in their number of fields. A missing value is nil;
// fields are valid until yield returns. Only the format options are used.
func (o Options) Scan(ctx context.Context, path string, yield func(line int, fields [][]byte) error) error {
	f := &file{path: path, text: text.NewFile(o.FS, path), o: o}
	var err error
	if f.dialect, err = o.dialect(path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s, err := f.start()
	if err != nil {
		return err
	}
	defer s.Close()
	f.encoding = s.encoding
	return f.scan(ctx, s, func(_ int, err error) error { return err }, yield)
}

// pollFields is the number of fields between checks of the context.
const pollFields = 1 << 14

// scan yields the remaining records. It continues after an invalid one if invalid returns nil.
func (f *file) scan(ctx context.Context, s *scanner, invalid func(line int, err error) error,
	yield func(line int, fields [][]byte) error) error {
	for left := 0; ; left -= 1 + len(s.fields) {
		if left <= 0 {
			if ctx.Err() != nil {
				return ctxerr.Check(ctx)
			}
			left = pollFields
		}
		if err := s.next(); err == io.EOF {
			return nil
		} else if err != nil {
			line := s.line
			recovered := s.recover(err)
			if err = f.lineError(line, err); recovered {
				err = invalid(line, err)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := yield(s.line, s.fields); err != nil {
			return err
		}
	}
}
