package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/bochner-ml/bochner"
	"github.com/bochner-ml/bochner/serve"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Serve models in a Go service, under its own URL prefix.
func Example() {
	dir, err := os.MkdirTemp("", "serve")
	check(err)
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "flats.bochner")
	flats, err := bochner.Load(ctx, "../examples/flats.csv", "rent")
	check(err)
	model, err := bochner.Fit(ctx, bochner.KernelMachine(flats), flats)
	check(err)
	check(model.Save(file))

	models, err := serve.New(serve.Options{Models: []string{"rent=" + file}})
	check(err)
	check(models.Load(ctx)) // the error names models that failed to load
	go models.Watch(ctx)    // reloads models whose files change

	mux := http.NewServeMux()
	mux.Handle("/models/", http.StripPrefix("/models", models))
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

	server := httptest.NewServer(mux)
	defer server.Close()
	answer, err := http.Post(server.URL+"/models/v1/models/rent:predict", "application/json", strings.NewReader(
		`{"rows": [{"size": 65, "rooms": 2, "built": null, "district": "centre", "furnished": "seldom"}]}`))
	check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(err)
	before, _, _ := strings.Cut(string(text), ".")
	fmt.Println(answer.Status, before)
	// Output: 200 OK {"model":"rent","version":"1","predictions":[{"value":943
}
