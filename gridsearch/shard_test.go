package gridsearch

import (
	"github.com/bochner-ml/bochner/internal/runtime/journal"

	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Shards do every fit once between them, and the search that takes up their journals has the table of one machine
// and fits nothing more.
func TestShards(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		p := &probe{}
		s, data := journaled(t, p)
		if sweep {
			s.Estimator = batching{line: s.Estimator.(line)}
		}
		s.Workers = 2
		want := table(mustRun(t, s, data))
		whole := s.Journal
		for _, n := range []int{1, 2, 4, 7, 12, 40} {
			p.fits = 0
			var journals [][]byte
			for i := range n {
				s.Journal = filepath.Join(t.TempDir(), "shard")
				if err := s.RunShard(context.Background(), data, i, n); err != nil {
					t.Fatal(err)
				}
				content, err := os.ReadFile(s.Journal)
				if err != nil {
					t.Fatal(err)
				}
				journals = append(journals, content)
			}
			if p.fits != 12 {
				t.Errorf("%d fits in %d shards, want 12", p.fits, n)
			}
			slices.Reverse(journals)
			var merged bytes.Buffer
			if err := MergeJournals(&merged, append(journals, journals[0])...); err != nil {
				t.Fatal(err)
			}
			s.Journal = filepath.Join(t.TempDir(), "merged")
			if err := os.WriteFile(s.Journal, merged.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			p.fits = 0
			if got := table(mustRun(t, s, data)); got != want {
				t.Errorf("in %d shards:\n%s\nwant\n%s", n, got, want)
			}
			if p.fits > 1 { // the refit
				t.Errorf("%d fits after all shards were done", p.fits-1)
			}
		}
		s.Journal = whole
	}
}

// Journals of another search, or of none, are not merged.
func TestMergeJournalsRefuses(t *testing.T) {
	s, data := journaled(t, &probe{})
	other := s
	other.Score, other.Journal = "mae", filepath.Join(t.TempDir(), "other")
	for _, one := range []Search{s, other} {
		if err := one.RunShard(context.Background(), data, 0, 2); err != nil {
			t.Fatal(err)
		}
	}
	ours, _ := os.ReadFile(s.Journal)
	theirs, _ := os.ReadFile(other.Journal)
	var out bytes.Buffer
	for want, list := range map[string][][]byte{
		"journal 1: it is of another search, which differs in scores": {ours, theirs},
		"journal 0: this is not the journal of a search":              {journal.Seal([]byte("{}"))},
		"journal 0: line 8 is damaged: invalid " +
			"character": {slices.Concat(ours, journal.Seal([]byte("{\"candidate\":}")))},
		"journal 0: line 2 is damaged: its checksum is wrong": {bytes.Replace(ours, []byte(`{"candidate":0`),
			[]byte(`{"candidate":1`), 1)},
		"no journals": nil,
	} {
		if err := MergeJournals(&out, list...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want: %s", err, want)
		}
	}
	s.Journal = ""
	if err := s.RunShard(context.Background(), data, 0, 1); err == nil {
		t.Error("a shard without a journal")
	}
}
