package serve

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
)

// checkBody reports a body of another type, or one that is too large by what is said of it.
func (c *call) checkBody(types ...string) error {
	h := c.r.Header
	if given := h.Get("Content-Type"); given != "" {
		kind, params, err := mime.ParseMediaType(given)
		charset := params["charset"]
		if err != nil || !slices.Contains(types, kind) || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return refuse(Unsupported, "got the content type %q, wanted %s in UTF-8", clip(given), strings.Join(types, " or "))
		}
	}
	if given := h.Get("Content-Encoding"); given != "" && given != "gzip" && given != "identity" {
		return refuse(Unsupported, "got the content encoding %q, wanted none or gzip", clip(given))
	}
	if c.r.ContentLength > c.options.Limits.Body {
		return c.tooLong()
	}
	return nil
}

func (c *call) tooLong() error {
	return refuse(TooLarge, "the body has more than %d bytes, which is the server's limit; send the rows in several requests", c.options.Limits.Body)
}

// leastBuffer is how many bytes a body has room for at first.
const leastBuffer = 4 << 10

// readBody reads the body as it comes, and makes room only for what has come.
func (c *call) readBody() error {
	from := io.Reader(c.r.Body)
	if c.r.Header.Get("Content-Encoding") == "gzip" {
		if err := c.room.take(64 << 10); err != nil {
			return err
		}
		packed, err := gzip.NewReader(io.LimitReader(from, c.options.Limits.Body+1))
		if err != nil {
			return c.broken(err)
		}
		from = packed
	}
	b := c.body[:0]
	if err := c.room.take(int64(cap(b))); err != nil {
		return err
	}
	for {
		if len(b) == cap(b) {
			to := max(2*cap(b), leastBuffer)
			if n := c.r.ContentLength; n >= int64(len(b)) && n < 16*int64(max(len(b), leastBuffer)) {
				to = max(int(n)+1, len(b)+1) // all of it, and the end
			}
			if err := c.room.take(int64(to - cap(b))); err != nil {
				return err
			}
			b = append(make([]byte, 0, to), b...)
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		c.body = b
		switch {
		case int64(len(b)) > c.options.Limits.Body:
			return c.tooLong()
		case err == io.EOF:
			return nil
		case err != nil:
			return c.broken(err)
		}
	}
}

// broken is what to say of a body that cannot be read.
func (c *call) broken(err error) error {
	var net net.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refuse(TooLarge, "the body has more than %d bytes", large.Limit)
	case errors.As(err, &net) && net.Timeout():
		return refuse(Slow, "the body did not come within the server's limit of time")
	case errors.Is(err, context.Canceled) || c.r.Context().Err() != nil:
		return refuse(Canceled, "the client went away")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return refuse(Invalid, "the body is no gzip: %v", err)
	}
	return refuse(Invalid, "the body cannot be read: %v", err)
}
