package gs

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/distributed/internal/servertest"
	"github.com/bochner-ml/bochner/internal/runtime/store"
	"github.com/bochner-ml/bochner/internal/testing/storetest"
)

// A Google-compatible server satisfies the invariants.
func TestConformance(t *testing.T) {
	servertest.GS(t)
	s := New()
	defer s.Close()
	storetest.Laws(t, store.Schemes{"gs": s}, func(t *testing.T) func(string) string {
		folder := strings.ReplaceAll(t.Name(), "/", "-")
		return func(path string) string {
			return (&url.URL{Scheme: "gs", Host: "bucket", Path: "/" + folder + "/" + path}).String()
		}
	})
	_, err := s.Read(t.Context(), "gs://gone/1.state")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
}

func TestErrors(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, []byte(`{"private_key": "very-secret"`), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", keys)
	for name, want := range map[string]string{
		"gs://bucket/1.state?colour=red&anonymous=true": `gs://bucket/1.state: invalid query parameter "colour"`,
		"gs://bucket/1.state":                           "gs://bucket/1.state: no credentials: ",
	} {
		_, err := New().Read(t.Context(), name)
		wrong := New().Write(t.Context(), name, func(io.Writer) error { return nil })
		for _, err := range []error{err, wrong} {
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "very-secret") {
				t.Errorf("%s: %v, want %s…", name, err, want)
			}
		}
	}
}
