package config

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/param"
)

// SQL contains database queries that replace data files.
type SQL struct {
	URL         string
	Train, Test reader.Strings
}

// Params declares the keys of the section.
func (s *SQL) Params(l *param.List) {
	l.String(&s.URL, "url", "Database: postgres://USER@HOST/NAME, sqlite:PATH with a path relative to the "+
		"experiment file, or $NAME for a URL in an environment variable. A URL with a password must be in a "+
		"variable.")
	l.Value(&s.Train, "train", "Query for the training rows, or a list of queries with the same columns, whose rows "+
		"are concatenated. ORDER BY a unique key makes runs reproducible.")
	l.Value(&s.Test, "test", "Query for the test rows, or a list of queries, with "+
		"the columns of the training query.")
}

// Given reports whether the section is present.
func (s SQL) Given() bool { return s.URL != "" || len(s.Train) > 0 || len(s.Test) > 0 }

// Database answers queries, from one snapshot if it supports them.
type Database interface {
	// Open returns the concatenated rows of the queries.
	Open(ctx context.Context, roles datasets.Roles, queries ...string) (datasets.Source, error)
	// Digest returns the SHA-256 sum of the rows of the queries; "" without queries.
	Digest(ctx context.Context, queries ...string) (string, error)
	// Transactional reports whether reads are isolated from concurrent writes.
	Transactional() bool
}

// superuserKey is the context key of [AllowSuperuser].
type superuserKey struct{}

// AllowSuperuser returns a context that permits queries by a PostgreSQL superuser. A SELECT of a
// superuser can write files and run programs on the server, so use it for trusted experiment files
// only.
func AllowSuperuser(ctx context.Context) context.Context {
	return context.WithValue(ctx, superuserKey{}, true)
}

// SuperuserAllowed reports whether the context comes from [AllowSuperuser].
func SuperuserAllowed(ctx context.Context) bool { return ctx.Value(superuserKey{}) != nil }

// URLSchemes returns the supported URL schemes.
func URLSchemes() []string { return []string{"postgres", "postgresql", "sqlite"} }

// wantedURL is the constraint of a database URL.
const wantedURL = "postgres://USER@HOST/NAME, sqlite:PATH, or $NAME for the URL that an environment variable holds"

// variable matches a reference to an environment variable.
var variable = regexp.MustCompile(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})$`)

// Variable returns the name of the environment variable of the URL, or "".
func (s SQL) Variable() string {
	if m := variable.FindStringSubmatch(s.URL); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// Address returns the URL of the database and its scheme. Errors omit the URL, which may contain a
// password.
func (s SQL) Address() (scheme, address string, err error) {
	address, from := s.URL, "the URL"
	name := s.Variable()
	if name != "" {
		from = "the URL in $" + name
		if address = os.Getenv(name); address == "" {
			return "", "", fmt.Errorf("the environment variable %s is not set", name)
		}
	}
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case !found && strings.HasPrefix(address, "$"):
		return "", "", fmt.Errorf("%s must be %[2]s, got $ without a variable name", from, wantedURL)
	case !found || !plainWord.MatchString(scheme):
		return "", "", fmt.Errorf("%s must be %[2]s, got no scheme", from, wantedURL)
	case !slices.Contains(URLSchemes(), scheme):
		return "", "", fmt.Errorf("%s: scheme must be one of %[3]s, got %[2]s", from, scheme,
			strings.Join(URLSchemes(), ", "))
	case scheme == "sqlite" && (rest == "" || strings.HasPrefix(rest, "//")):
		return "", "", fmt.Errorf("%s must be sqlite:PATH, got no path", from)
	case scheme == "sqlite":
		return scheme, address, nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" && parsed.Query().Get("host") == "" {
		return "", "", fmt.Errorf("%s must be postgres://USER@HOST/NAME", from)
	}
	if parsed.Query().Get("default_query_exec_mode") == "simple_protocol" { // would allow several statements
		return "", "", fmt.Errorf("%s: simple_protocol is not supported; use default_query_exec_mode=exec", from)
	}
	if name == "" && len(secrets(parsed)) > 0 {
		return "", "", fmt.Errorf("the URL must not contain a password; store it in an environment variable and use $NAME")
	}
	return scheme, address, nil
}

// plainWord matches a scheme.
var plainWord = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// secrets returns the passwords in a URL.
func secrets(u *url.URL) (out []string) {
	if password, has := u.User.Password(); has {
		out = append(out, password)
	}
	for key, values := range u.Query() {
		if strings.Contains(strings.ToLower(key), "password") {
			out = append(out, values...)
		}
	}
	return out
}

// Secrets returns the strings to redact from messages: the passwords of a URL, and the URL if it
// has any.
func Secrets(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{address}
	}
	found := secrets(u)
	if len(found) == 0 {
		return nil
	}
	out := []string{address}
	for _, s := range found {
		out = append(out, s, url.QueryEscape(s), url.PathEscape(s))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// moved returns the section with a new path of the SQLite file.
func (s SQL) moved(to func(path string) string) SQL {
	if path, is := strings.CutPrefix(s.URL, "sqlite:"); is && path != "" && !strings.HasPrefix(path, "//") {
		s.URL = "sqlite:" + to(path)
	}
	return s
}

// below converts a path relative to a directory to one relative to the parent.
func below(folder, path string) string {
	if filepath.IsAbs(path) || folder == "." || path == reader.StandardInput {
		return path
	}
	return filepath.ToSlash(filepath.Join(folder, path))
}

// MaxShards is the maximum number of shards of a fit.
const MaxShards = 1 << 16
