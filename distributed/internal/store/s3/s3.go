// Package s3 is the store of s3://BUCKET/KEY URLs, for Amazon S3 and compatible servers.
//
// Credentials and the region are found as by Amazon's programs: AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_PROFILE and ~/.aws, the role of the pod, the task or the
// host. Query parameters of the URL take precedence:
//
//	region=eu-central-1              region of the bucket
//	endpoint=https://minio:9000      address of a compatible server
//	profile=NAME                     profile of ~/.aws
//	role=ARN                         role to assume
//	use_path_style=false             virtual-hosted style: the bucket is part of the host name
//	anonymous=true                   public bucket
//
// and those of gocloud.dev/blob/s3blob and gocloud.dev/aws. With an endpoint, from the URL,
// AWS_ENDPOINT_URL or AWS_ENDPOINT_URL_S3, the defaults suit servers other than Amazon's:
// path-style addresses, region us-east-1, and checksums only where the protocol requires them
// (states contain their own).
package s3

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/bochner-ml/bochner/distributed/internal/store/bucket"
)

// New makes a store of s3:// URLs.
func New() *bucket.Store { return bucket.New(open, explain) }

func open(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	q := u.Query()
	if cmp.Or(q.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")) != "" {
		usual(q, "use_path_style", "true", "s3ForcePathStyle")
		usual(q, "request_checksum_calculation", os.Getenv("AWS_REQUEST_CHECKSUM_CALCULATION"))
		usual(q, "request_checksum_calculation", "when_required")
		if os.Getenv("AWS_REGION") == "" && os.Getenv("AWS_DEFAULT_REGION") == "" && q.Get("profile") == "" {
			usual(q, "region", "us-east-1")
		}
	}
	if at, err := url.Parse(q.Get("endpoint")); err != nil || at.User != nil {
		return nil, errors.New("the endpoint is no URL, or has a password, which others can read")
	}
	at := *u
	at.RawQuery = q.Encode()
	b, err := new(s3blob.URLOpener).OpenBucketURL(ctx, &at)
	if inner := errors.Unwrap(err); inner != nil { // without the URL
		err = inner
	}
	return b, err
}

// explained is an error with a shorter message.
type explained struct {
	text string
	err  error
}

func (e explained) Error() string { return e.text }
func (e explained) Unwrap() error { return e.err }

// explain returns the response of the server, or the reason why there was no request.
func explain(err error) error {
	var answer smithy.APIError
	var request *url.Error
	text := err.Error()
	switch {
	case strings.Contains(text, "get identity: "):
		_, why, _ := strings.Cut(text, "get identity: ")
		return explained{"no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or let the " +
			"machine have a role (" + why + ")", err}
	case strings.Contains(text, "resolve endpoint: ") && strings.Contains(text, "egion"):
		return explained{"no region: set AWS_REGION, or write ?region= behind the name", err}
	case errors.As(err, &answer):
		return explained{answer.ErrorCode() + ": " + strings.TrimSpace(answer.ErrorMessage()), err}
	case errors.As(err, &request):
		return explained{request.Error(), err}
	}
	return err
}

// usual sets an option unless it or an alias is set.
func usual(q url.Values, key, value string, others ...string) {
	for _, one := range append(others, key) {
		if q.Has(one) {
			return
		}
	}
	if value != "" {
		q.Set(key, value)
	}
}
