package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// maxTokenBytes bounds the size of a token file.
const maxTokenBytes = 4096

// token is the bearer token, reloaded when its file changes.
type token struct {
	watchedFiles
	sum atomic.Pointer[[sha256.Size]byte]
}

// newToken reads the token file; an empty path disables authentication.
func newToken(path string) (*token, error) {
	t := &token{}
	if path == "" {
		return t, nil
	}
	t.watchedFiles = watchedFiles{name: "token", Watched: files.Watched{Paths: []string{path}},
		read: func() error { return t.load(path) }}
	_, err := t.readIfChanged()
	return t, err
}

func (t *token) load(path string) error {
	file, _, err := files.OpenNow(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTokenBytes+1))
	token := bytes.TrimSpace(text)
	switch {
	case err != nil:
		return err
	case len(text) > maxTokenBytes:
		return fmt.Errorf("%s: must have at most %d bytes", path, maxTokenBytes)
	case len(token) == 0:
		return fmt.Errorf("%s is empty", path)
	case bytes.ContainsAny(token, " \t\r\n"):
		return fmt.Errorf("%s: must contain one word without white space", path)
	}
	sum := sha256.Sum256(token)
	t.sum.Store(&sum)
	return nil
}

// check returns an [*Error] unless the Authorization header contains the token. It compares hashes
// in constant time.
func (t *token) check(header string) error {
	want := t.sum.Load()
	if want == nil {
		return nil
	}
	scheme, given, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return newError(protocol.Unauthenticated, `missing or invalid token; send the header "Authorization: Bearer TOKEN"`)
	}
	return nil
}
