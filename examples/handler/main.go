// Handler predicts rents over HTTP by a model file, which it loads again when the file changes.
package main

import (
	"cmp"
	"encoding/json"
	"log"
	"net/http"

	"github.com/bochner-ml/bochner"
)

func predict(rents *bochner.Watched) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var flat map[string]any
		invalid := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&flat)
		rent, err := rents.Model().PredictRow(r.Context(), flat)
		if err = cmp.Or(invalid, err); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest) // names the invalid columns
			return
		}
		json.NewEncoder(w).Encode(rent)
	}
}

func main() {
	rents, err := bochner.OpenWatched("rents.bochner")
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /rent", predict(rents))
	log.Fatal(http.ListenAndServe("localhost:8080", nil))
}
