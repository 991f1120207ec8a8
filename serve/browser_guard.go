package serve

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// hostsKey is the context key of the hosts that [ListenOptions] add, for requests to
// [Server.Serve].
type hostsKey struct{}

// localDomains are top-level domains that are not public.
var localDomains = []string{".localhost", ".local", ".internal", ".svc"}

// checkBrowser rejects requests that web pages of other sites can make a browser send, on a server
// without a token: those for a public host name, which may resolve to this server (DNS rebinding),
// posts of other origins, and posts of browsers without a content type, which need no permission.
func (c *call) checkBrowser() error {
	hosts, listening := c.r.Context().Value(hostsKey{}).([]string)
	if !listening || c.server.token.sum.Load() != nil {
		return nil
	}
	if !isLocalHost(c.r.Host, hosts) {
		return newError(protocol.PermissionDenied, "host: must be an address or a local name, got %q; allow it by --host, "+
			"or use --token-file", rowerrors.Clip(c.r.Host))
	}
	if err := http.NewCrossOriginProtection().Check(c.r); err != nil {
		return newError(protocol.PermissionDenied, "origin: must be the one of the server, got %q; use --token-file",
			rowerrors.Clip(c.r.Header.Get("Origin")))
	}
	// Every browser is called Mozilla, and a page needs permission to change that. Triton's client gives no type.
	isBrowser := strings.HasPrefix(c.r.UserAgent(), "Mozilla/")
	if c.r.Method == http.MethodPost && isBrowser && c.r.Header.Get("Content-Type") == "" {
		return newError(protocol.UnsupportedMediaType, "content type: must be given, such as application/json")
	}
	return nil
}

// isLocalHost reports whether a Host header is an IP address, a name that public name servers do
// not resolve, the name of this computer, or one of the allowed hosts.
func isLocalHost(host string, allowed []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return true
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(host, own) ||
		slices.ContainsFunc(localDomains, func(domain string) bool { return strings.HasSuffix(host, domain) }) ||
		slices.ContainsFunc(allowed, func(name string) bool { return strings.EqualFold(name, host) })
}

// withHosts returns a context for the requests of a listener.
func withHosts(hosts []string) context.Context {
	return context.WithValue(context.Background(), hostsKey{}, hosts)
}
