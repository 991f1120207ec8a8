package main

import (
	"github.com/bochner-ml/bochner/distributed/store"
	"github.com/bochner-ml/bochner/distributed/store/s3"
)

// stores contains the stores of states and models by URL scheme; paths and file:// need none.
var stores = store.Schemes{"s3": s3.New(), "gs": googleStorage()}
