// Package gs is the store of gs://BUCKET/KEY URLs of Google Cloud Storage.
//
// Credentials are found as by Google's programs: the file named by GOOGLE_APPLICATION_CREDENTIALS,
// that of gcloud, the account of the pod or host. The query parameter anonymous=true is for public
// buckets; the others are those of gocloud.dev/blob/gcsblob.
//
// Its dependencies, among them gRPC, are larger than the rest of the command. Therefore bochner
// supports gs:// only if built with -tags gs.
package gs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"

	"github.com/bochner-ml/bochner/distributed/internal/store/bucket"
)

// New makes a store of gs:// URLs.
func New() *bucket.Store { return bucket.New(open, nil) }

func open(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	var opener gcsblob.URLOpener
	if q := u.Query(); os.Getenv("STORAGE_EMULATOR_HOST") != "" || q.Get("anonymous") == "true" {
		opener.Client = gcp.NewAnonymousHTTPClient(gcp.DefaultTransport())
	} else {
		keys, err := gcp.DefaultCredentials(context.WithoutCancel(ctx)) // which tokens are fetched with later
		if err != nil {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		if opener.Client, err = gcp.NewHTTPClient(gcp.DefaultTransport(), keys.TokenSource); err != nil {
			return nil, fmt.Errorf("no credentials: %w", err)
		}
		opener.TokenSource = gcp.CredentialsTokenSource(keys)
	}
	b, err := opener.OpenBucketURL(context.WithoutCancel(ctx), u)
	if inner := errors.Unwrap(err); inner != nil { // without the URL
		err = inner
	}
	return b, err
}
