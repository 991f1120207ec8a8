package s3

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bochner-ml/bochner/distributed/internal/servertest"
	"github.com/bochner-ml/bochner/internal/runtime/store"
	"github.com/bochner-ml/bochner/internal/testing/storetest"
)

// An S3-compatible server satisfies the invariants, without leftover uploads after failures and
// cancellation.
func TestConformance(t *testing.T) {
	name := servertest.S3(t)
	s := New()
	defer s.Close()
	storetest.Laws(t, store.Schemes{"s3": s}, func(t *testing.T) func(string) string {
		folder := strings.ReplaceAll(t.Name(), "/", "-")
		return func(path string) string { return name(folder + "/" + path) }
	})
	u, err := url.Parse(name(""))
	if err != nil {
		t.Fatal(err)
	}
	b, err := open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	var client *s3.Client
	if !b.As(&client) {
		t.Fatal("no client")
	}
	left, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &u.Host})
	if err != nil || len(left.Uploads) > 0 {
		t.Errorf("%d uploads are left, error %v", len(left.Uploads), err)
	}
}

func TestEnvironment(t *testing.T) {
	name := servertest.S3(t)
	u, _ := url.Parse(name(""))
	t.Setenv("AWS_ENDPOINT_URL", u.Query().Get("endpoint"))
	s := New()
	if err := s.Write(t.Context(), "s3://bucket/a/1.state", func(w io.Writer) error {
		_, err := w.Write([]byte("text"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if names, err := s.List(t.Context(), "s3://bucket/a/"); err != nil || len(names) != 1 ||
		names[0] != "s3://bucket/a/1.state" {
		t.Errorf("%q, error %v", names, err)
	}
}

func TestErrors(t *testing.T) {
	name := servertest.S3(t)
	problem := func(file string, wants ...string) error {
		t.Helper()
		s := New()
		_, err := s.Read(t.Context(), file)
		wrong := s.Write(t.Context(), file, func(io.Writer) error { return nil })
		_, list := s.List(t.Context(), file)
		for _, err := range []error{err, wrong, list} {
			if err == nil {
				t.Errorf("%s: no error", file)
				continue
			}
			for _, want := range append(wants, store.Shown(file)+": ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: no %q", err, want)
				}
			}
			if strings.Contains(err.Error(), servertest.SecretKey) {
				t.Errorf("%v: that was secret", err)
			}
		}
		return err
	}
	if err := problem(strings.Replace(name("1.state"), "//bucket", "//gone", 1),
		"there is no such bucket"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	problem(name("1.state")+"&colour=red", `1.state: unknown query parameter "colour"`)
	problem("s3://bucket/1.state?endpoint="+url.QueryEscape("http://me:"+servertest.SecretKey+"@127.0.0.1:1"),
		"1.state: the endpoint is no URL, or has a password, which others can read")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another-"+servertest.SecretKey)
	problem(name("1.state"), "1.state: SignatureDoesNotMatch: ")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	problem(name("1.state"), "1.state: no credentials: set AWS_ACCESS_KEY_ID")
	t.Setenv("AWS_REGION", "")
	problem("s3://bucket/1.state", "1.state: no region: set AWS_REGION")
}

// Without a server, there is an error after a few retries.
func TestUnreachable(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	_, err := New().Read(t.Context(), "s3://bucket/1.state?endpoint=http://127.0.0.1:1")
	if err == nil || !strings.HasPrefix(err.Error(), "s3://bucket/1.state: Get ") ||
		!strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}
