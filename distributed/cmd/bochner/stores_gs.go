//go:build gs

package main

import (
	"github.com/bochner-ml/bochner/distributed/internal/store/gs"
	"github.com/bochner-ml/bochner/internal/runtime/store"
)

func googleStorage() store.Store { return gs.New() }
