package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/files"
)

// token is what requests have to show, from a file.
type token struct {
	path string
	info fs.FileInfo
	sum  atomic.Pointer[[sha256.Size]byte]
}

// newToken reads the file at path; "" is no token.
func newToken(path string) (*token, error) {
	t := &token{path: path}
	if path == "" {
		return t, nil
	}
	return t, t.read()
}

func (t *token) read() error {
	const most = 4096 // bytes
	file, info, err := files.OpenNow(t.path)
	if err != nil {
		return fmt.Errorf("serve: the token: %w", err)
	}
	defer file.Close()
	if !info.Mode().IsRegular() {
		return fmt.Errorf("serve: the token: %s is no regular file", t.path)
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return fmt.Errorf("serve: the token: %w", err)
	}
	if len(text) > most {
		return fmt.Errorf("serve: the token: %s has more than %d bytes", t.path, most)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return fmt.Errorf("serve: the token: %s is empty", t.path)
	}
	if bytes.ContainsAny(text, " \t\r\n") {
		return fmt.Errorf("serve: the token: %s has blanks within, wanted one word", t.path)
	}
	sum := sha256.Sum256(text)
	t.sum.Store(&sum)
	t.info = info
	return nil
}

// refresh reads the file again if it has changed. The token before stays where it is not to be read.
func (t *token) refresh(log *slog.Logger) {
	if t.path == "" {
		return
	}
	info, err := os.Stat(t.path)
	if err == nil && sameFile(t.info, info) {
		return
	}
	if err == nil {
		err = t.read()
	}
	if err != nil {
		log.Error("token not read again; the one before is asked for", "error", err)
		return
	}
	log.Info("token read again")
}

// errToken is a request without the token.
var errToken = &Error{Code: Unauthenticated, Message: `the token is missing or wrong, wanted the header "Authorization: Bearer TOKEN"`}

// Authorized returns nil where the value of a request's Authorization header has the token, or none is wanted, else an
// [Error]. How long it takes says nothing of the token.
func (s *Server) Authorized(header string) error {
	want := s.token.sum.Load()
	if want == nil {
		return nil
	}
	scheme, given, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(sum[:], want[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return errToken
	}
	return nil
}
