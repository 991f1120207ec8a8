//go:build gs

package main

import (
	"github.com/bochner-ml/bochner/distributed/store"
	"github.com/bochner-ml/bochner/distributed/store/gs"
)

func googleStorage() store.Store { return gs.New() }
