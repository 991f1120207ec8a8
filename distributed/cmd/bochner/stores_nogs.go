//go:build !gs

package main

import (
	"errors"

	"github.com/bochner-ml/bochner/internal/runtime/store"
)

// googleStorage is left out: it would add 20 MB to a program of 51, without symbols.
func googleStorage() store.Store {
	return store.Unavailable{Err: errors.New("this bochner is built without gs://; build it with -tags gs")}
}
