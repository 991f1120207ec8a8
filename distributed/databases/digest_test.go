package databases_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/bochner-ml/bochner/datasets/sql"
)

// The digest is that of names and strings with their lengths, equal for every database, and
// different for another row order or another position of a missing value.
func TestDigest(t *testing.T) {
	length := func(n byte) string { return string([]byte{n, 0, 0, 0, 0, 0, 0, 0}) }
	const missing = "\xff\xff\xff\xff\xff\xff\xff\xff"
	sum := sha256.Sum256([]byte(length(3) + "k\x00w" + length(3) + "0.5" + length(1) + "a" + missing + length(0)))
	want := hex.EncodeToString(sum[:])
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			db := d.open(t)
			do(t, db, "drop table if exists summed")
			do(t, db, "create table summed (id "+d.types["whole"]+", k "+d.types["float"]+", w text)")
			do(t, db, "insert into summed values (1, 0.5, 'a'), (2, null, '')")
			s, err := sql.Take(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Transactional() != (name == "postgres") {
				t.Error("whether the snapshot lasts", s.Transactional())
			}
			for query, same := range map[string]bool{
				"select k, w from summed order by id":                  true,
				"select k, w from summed order by id desc":             false,
				"select k as w, w as k from summed order by 1":         false,
				"select k, nullif(w, '') as w from summed order by id": false,
				"select k, w from summed where id = 1":                 false,
			} {
				got, err := s.Digest(ctx, sql.Query{Text: query})
				if err != nil || (got == want) != same {
					t.Errorf("%s: %s, %v, want %s: %v", query, got, err, want, same)
				}
			}
			one, err := s.Digest(ctx, sql.Query{Text: "select k, w from summed where id = 1"},
				sql.Query{Text: "select k, w from summed where id = 2"})
			if again, err2 := s.Digest(ctx, sql.Query{Text: "select k, w from summed where id = 1"},
				sql.Query{Text: "select k, w from summed where id = 2"}); err != nil || err2 != nil || one != again || one == want {
				t.Error(one, again, err, err2)
			}
			if _, err := s.Digest(ctx, sql.Query{Text: "select none from summed"}); err == nil {
				t.Error("a query that fails has a sum")
			}
		})
	}
}
