//go:build gs

package main

import (
	"github.com/bochner-ml/bochner/distributed/store/gs"
	"github.com/bochner-ml/bochner/internal/experiment/store"
)

func googleStorage() store.Store { return gs.New() }
