package main

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner"
)

func TestPredict(t *testing.T) {
	ctx, file := context.Background(), filepath.Join(t.TempDir(), "rents.bochner")
	flats, err := bochner.Load(ctx, "../flats.csv", "rent")
	if err != nil {
		t.Fatal(err)
	}
	model, err := bochner.Fit(ctx, bochner.KernelMachine(flats), flats)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Save(file); err != nil {
		t.Fatal(err)
	}
	rents, err := bochner.OpenWatched(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{`{"size": 65, "rooms": 2, "built": null, "district": "centre", "furnished": "no"}`, 200, `{"value":9`},
		{`{"size": "big", "rooms": 2, "built": null, "district": "centre"}`, 400, "furnished"},
		{`{"size": `, 400, "unexpected EOF"},
	} {
		w := httptest.NewRecorder()
		predict(rents)(w, httptest.NewRequest("POST", "/rent", strings.NewReader(c.body)))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
		}
	}
}
