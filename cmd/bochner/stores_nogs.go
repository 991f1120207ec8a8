//go:build !gs

package main

import (
	"context"
	"errors"
	"net/url"

	"gocloud.dev/blob"

	"github.com/bochner-ml/bochner/distributed/store"
	"github.com/bochner-ml/bochner/distributed/store/bucket"
)

// googleStorage is left out: it would add 20 MB to a program of 51, without symbols.
func googleStorage() store.Store {
	return bucket.New(func(context.Context, *url.URL) (*blob.Bucket, error) {
		return nil, errors.New("this bochner was built without gs://; go install -tags gs " +
			"github.com/bochner-ml/bochner/cmd/bochner@latest")
	}, nil)
}
