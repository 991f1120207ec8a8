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

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// handlePost handles a request with a body of one of the given types: it reads the body, waits for
// a slot, and sends what work writes to c.out. Work calls release before it waits for another
// request.
func (c *call) handlePost(work func(ctx context.Context, m *Model, leave func()) (kind []string, err error),
	types ...string) error {
	m, err := c.find()
	if err != nil {
		return err
	}
	if err := c.checkBody(types...); err != nil {
		return err
	}
	if err := c.server.limiter.admit(c.queue()); err != nil {
		return err
	}
	defer c.server.limiter.finish()
	if err := c.readBody(); err != nil {
		return err
	}
	kind, err := c.runWork(m, work)
	if err == nil {
		c.send(http.StatusOK, kind)
	}
	return err
}

func (c *call) runWork(m *Model, work func(context.Context, *Model, func()) ([]string, error)) ([]string, error) {
	ctx, leave, err := c.server.limiter.acquire(c.r.Context(), c.queue())
	if err != nil {
		return nil, err
	}
	defer leave()
	return work(ctx, m, leave)
}

// checkBody rejects unsupported content types and encodings, and bodies whose announced length
// exceeds the limit.
func (c *call) checkBody(types ...string) error {
	h := c.r.Header
	if given := h.Get("Content-Type"); given != "" {
		kind, params, err := mime.ParseMediaType(given)
		charset := params["charset"]
		if err != nil || !slices.Contains(types, kind) || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return newError(protocol.UnsupportedMediaType, "content type: must be %s in UTF-8, got %q",
				strings.Join(types, " or "), rowerrors.Clip(given))
		}
	}
	if given := h.Get("Content-Encoding"); given != "" && given != "gzip" && given != "identity" {
		return newError(protocol.UnsupportedMediaType, "content encoding: must be gzip or none, got %q",
			rowerrors.Clip(given))
	}
	if c.r.ContentLength > c.server.options.Limits.MaxBodyBytes {
		return c.bodyTooLarge()
	}
	return nil
}

func (c *call) bodyTooLarge() error {
	return newError(protocol.TooLarge, "body size: must be at most %d bytes; split the request",
		c.server.options.Limits.MaxBodyBytes)
}

// minBufferBytes is the initial capacity of the body buffer, in bytes.
const minBufferBytes = 4 << 10

// readBody reads the body. It reserves memory for bytes that arrive, not for the announced length.
func (c *call) readBody() error {
	from := io.Reader(c.r.Body)
	if c.r.Header.Get("Content-Encoding") == "gzip" {
		if err := c.Reserve(64 << 10); err != nil {
			return err
		}
		packed, err := gzip.NewReader(io.LimitReader(from, c.server.options.Limits.MaxBodyBytes+1))
		if err != nil {
			return c.bodyError(err)
		}
		from = packed
	}
	b := c.body[:0]
	if err := c.Reserve(int64(cap(b))); err != nil {
		return err
	}
	for {
		if len(b) == cap(b) {
			to := max(2*cap(b), minBufferBytes)
			if n := c.r.ContentLength; n >= int64(len(b)) && n < 16*int64(max(len(b), minBufferBytes)) {
				to = max(int(n)+1, len(b)+1) // the whole body and the byte that detects its end
			}
			if err := c.Reserve(int64(to - cap(b))); err != nil {
				return err
			}
			b = append(make([]byte, 0, to), b...)
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		c.body = b
		switch {
		case int64(len(b)) > c.server.options.Limits.MaxBodyBytes:
			return c.bodyTooLarge()
		case err == io.EOF:
			return nil
		case err != nil:
			return c.bodyError(err)
		}
	}
}

// bodyError converts the error of reading a body.
func (c *call) bodyError(err error) error {
	var net net.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return newError(protocol.TooLarge, "body size: must be at most %d bytes", large.Limit)
	case errors.As(err, &net) && net.Timeout():
		return newError(protocol.RequestTimeout, "the body did not arrive within the read timeout")
	case errors.Is(err, context.Canceled) || c.r.Context().Err() != nil:
		return newError(protocol.Canceled, "the client closed the connection")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return newError(protocol.InvalidArgument, "cannot decompress the body: %v", err)
	}
	return newError(protocol.InvalidArgument, "cannot read the body: %v", err)
}
