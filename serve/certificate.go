package serve

import (
	"crypto/tls"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// certificate is a TLS certificate that is reloaded when its files change.
type certificate struct {
	watchedFiles
	pair atomic.Pointer[tls.Certificate]
}

func newCertificate(cert, key string) (*certificate, error) {
	c := &certificate{}
	c.watchedFiles = watchedFiles{name: "certificate", Watched: files.Watched{Paths: []string{cert, key}},
		read: func() error {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err == nil {
				c.pair.Store(&pair)
			}
			return err
		}}
	_, err := c.readIfChanged()
	return c, err
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil }
