package main

import (
	"github.com/bochner-ml/bochner/distributed/store"
	"github.com/bochner-ml/bochner/distributed/store/s3"
)

// stores are those of states and models, by the schemes of their URLs; paths and file:// need none.
var stores = store.Schemes{"s3": s3.New(), "gs": googleStorage()}
