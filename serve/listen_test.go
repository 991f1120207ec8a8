package serve_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/serve"
)

// certify writes a self-signed certificate and its key.
func certify(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tls.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	write(t, filepath.Join(dir, "tls.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
}

// The certificate is reloaded once certificate and key match; old TLS versions and plain HTTP are
// rejected.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir, "first")
	s, err := serve.New(serve.Options{ReloadInterval: 2 * time.Millisecond})
	if err == nil {
		err = s.AddModel("flat", "1", fitted()["nrent"])
	}
	if err != nil {
		t.Fatal(err)
	}
	addr := listen(t, s, serve.ListenOptions{CertFile: filepath.Join(dir, "tls.crt"),
		KeyFile: filepath.Join(dir, "tls.key")})
	name := func() string {
		t.Helper()
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := name(); got != "first" {
		t.Errorf("the certificate of %s", got)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	answer, err := client.Post("https://"+addr+"/v1/models/flat:predict", "application/json", strings.NewReader(row))
	if err != nil || answer.StatusCode != 200 || answer.Proto != "HTTP/1.1" {
		t.Fatalf("%+v, %v", answer, err)
	}
	answer.Body.Close()
	write(t, filepath.Join(dir, "tls.key"), "half")
	time.Sleep(20 * time.Millisecond)
	if got := name(); got != "first" {
		t.Errorf("the certificate of %s", got)
	}
	certify(t, dir, "second")
	until(t, func() bool { return name() == "second" })
	if _, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	plain, err := http.Get("http://" + addr + "/v2/health/live")
	if err == nil {
		plain.Body.Close()
	}
	if err == nil && plain.StatusCode == 200 {
		t.Error("plain HTTP is answered")
	}
}

// Invalid options return an error.
func TestListenErrors(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir, "first")
	cert := filepath.Join(dir, "tls.crt")
	for want, o := range map[string]serve.ListenOptions{
		"CertFile and KeyFile must be set together": {CertFile: cert},
		"must be ≥ 0":       {ShutdownTimeout: -1},
		"no such file":      {CertFile: cert, KeyFile: filepath.Join(dir, "none")},
		"rather than a key": {CertFile: cert, KeyFile: cert},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := started(t, serve.Options{})
		if err := s.Serve(ctx, l, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
			t.Errorf("%s: something listens", want)
		}
	}
}

// The number of open connections is limited.
func TestConnectionsAreBounded(t *testing.T) {
	s := started(t, serve.Options{})
	addr := listen(t, s, serve.ListenOptions{MaxConnections: 2})
	get := func(c net.Conn, within time.Duration) bool {
		if _, err := io.WriteString(c, "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(within))
		n, _ := c.Read(make([]byte, 500))
		return n > 0
	}
	var open []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	if !get(open[0], 20*time.Second) || !get(open[1], 20*time.Second) || get(open[2], 50*time.Millisecond) {
		t.Error("two of three connections must have replies")
	}
	open[0].Close()
	until(t, func() bool {
		open[2].SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, _ := open[2].Read(make([]byte, 500))
		return n > 0
	})
}

// Shutdown answers a request whose body is still arriving, and no longer listens.
func TestShutdownAnswersPendingRequests(t *testing.T) {
	addr, stop, done := begin(t, started(t, serve.Options{}), serve.ListenOptions{MaxConnections: 1})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	write := func(text string) {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	write("POST /v2/models/nrent/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{")
	stop()
	write("}")
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if text, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400") {
		t.Errorf("%q, %v", text, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("it still listens")
	}
}

// Shutdown ends in time although all connection slots are in use.
func TestEndWithoutSlots(t *testing.T) {
	addr, stop, done := begin(t, started(t, serve.Options{}), serve.ListenOptions{MaxConnections: 1,
		ShutdownTimeout: 50 * time.Millisecond})
	for range 3 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET / HT")
	}
	time.Sleep(20 * time.Millisecond)
	stop()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}

// A listening server without a token rejects what a web page of another site can make a browser
// send: names that resolve to it, posts of other origins, and posts of browsers without a content type.
func TestRejectsForeignPages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "secret")
	open := func(o serve.Options, hosts ...string) string {
		s, err := serve.New(o)
		if err == nil {
			err = s.AddModel("flat", "1", fitted()["nrent"])
		}
		if err != nil {
			t.Fatal(err)
		}
		return listen(t, s, serve.ListenOptions{Hosts: hosts})
	}
	addr, secret := open(serve.Options{}, "models.example.org"), open(serve.Options{TokenFile: file})
	const page, kind = "https://evil.example", "application/json"
	for name, c := range map[string]struct {
		addr, host, origin, kind string
		want                     int // of a POST with an unknown path
	}{
		"address":         {addr, "", "", kind, 404},
		"IPv6":            {addr, "[::1]:80", "", kind, 404},
		"localhost":       {addr, "localhost:8080", "", kind, 404},
		"service":         {addr, "models.team.svc.cluster.local", "", kind, 404},
		"allowed":         {addr, "Models.Example.org:443", "", kind, 404},
		"own origin":      {addr, "localhost:8080", "http://localhost:8080", kind, 404},
		"rebinding":       {addr, "evil.example", "", kind, 403},
		"dotted":          {addr, "evil.example.:80", "", kind, 403},
		"like a local":    {addr, "localhost.evil.example", "", kind, 403},
		"other origin":    {addr, "", page, kind, 403},
		"sandboxed":       {addr, "", "null", kind, 403},
		"no content type": {addr, "", "", "", 415},
		"a program":       {addr, "", "", "", 404},
		"with a token":    {secret, "evil.example", page, "", 404},
	} {
		r, err := http.NewRequest("POST", "http://"+c.addr+"/unknown", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		r.Header.Set("Authorization", "Bearer secret")
		if name != "a program" {
			r.Header.Set("User-Agent", "Mozilla/5.0")
		}
		for key, value := range map[string]string{"Origin": c.origin, "Content-Type": c.kind} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s: %d, want %d: %s", name, answer.StatusCode, c.want, text)
		}
	}
}
