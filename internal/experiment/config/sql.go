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
	"github.com/bochner-ml/bochner/internal/reader"
	"github.com/bochner-ml/bochner/param"
)

// SQL is queries to a database, whose rows take the place of files.
type SQL struct {
	URL         string
	Train, Test reader.Texts
}

// Params declares the keys of the section.
func (s *SQL) Params(l *param.List) {
	l.String(&s.URL, "url", "Where the database is: postgres://USER@HOST/NAME, sqlite:PATH, the path relative to the experiment file, or $NAME for the URL that an environment variable holds. A URL with a password stands in a variable.")
	l.Value(&s.Train, "train", "Query for the rows to learn from, or a list of queries with the same columns, whose rows come one after the other. An order by a unique key makes every run the same.")
	l.Value(&s.Test, "test", "Query for the rows to test on, with the columns of the others; or several.")
}

// Given says whether there is such a section.
func (s SQL) Given() bool { return s.URL != "" || len(s.Train) > 0 || len(s.Test) > 0 }

// Database is what answers queries, all of them as of one moment where it can.
type Database interface {
	// Open returns the rows of queries, those of several one after the other.
	Open(ctx context.Context, roles datasets.Roles, queries ...string) (datasets.Source, error)
	// Digest returns the SHA-256 sum of the rows of queries, "" for no query.
	Digest(ctx context.Context, queries ...string) (string, error)
	// Lasts says whether what others write is not seen.
	Lasts() bool
}

// superuserKey is the key of a context made by [AllowSuperuser].
type superuserKey struct{}

// AllowSuperuser returns a context in which the queries of an experiment may run as a superuser of
// PostgreSQL. A superuser's SELECT can write files and run programs on the server: allow it for
// experiment files that you trust.
func AllowSuperuser(ctx context.Context) context.Context {
	return context.WithValue(ctx, superuserKey{}, true)
}

// SuperuserAllowed reports whether the context is one of [AllowSuperuser].
func SuperuserAllowed(ctx context.Context) bool { return ctx.Value(superuserKey{}) != nil }

// URLSchemes lists the databases that a URL may name.
func URLSchemes() []string { return []string{"postgres", "postgresql", "sqlite"} }

// wantedURL is what a URL of a database looks like.
const wantedURL = "postgres://USER@HOST/NAME, sqlite:PATH, or $NAME for the URL that an environment variable holds"

// variable is how an environment variable is written.
var variable = regexp.MustCompile(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})$`)

// Variable names the environment variable that holds the URL, "" where it stands in the file.
func (s SQL) Variable() string {
	if m := variable.FindStringSubmatch(s.URL); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// Address returns the URL of the database, and its scheme. What is wrong with it is said without the URL, which may
// hold a password.
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
		return "", "", fmt.Errorf("%s begins with $ and names no environment variable, wanted %s", from, wantedURL)
	case !found || !plainWord.MatchString(scheme):
		return "", "", fmt.Errorf("%s has no scheme, wanted %s", from, wantedURL)
	case !slices.Contains(URLSchemes(), scheme):
		return "", "", fmt.Errorf("%s is of the scheme %s, and the databases are %s", from, scheme, strings.Join(URLSchemes(), ", "))
	case scheme == "sqlite" && (rest == "" || strings.HasPrefix(rest, "//")):
		return "", "", fmt.Errorf("%s names no file, wanted sqlite:PATH", from)
	case scheme == "sqlite":
		return scheme, address, nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" && parsed.Query().Get("host") == "" {
		return "", "", fmt.Errorf("%s cannot be read, wanted postgres://USER@HOST/NAME", from)
	}
	if parsed.Query().Get("default_query_exec_mode") == "simple_protocol" { // runs several statements
		return "", "", fmt.Errorf("%s has the mode simple_protocol; take default_query_exec_mode=exec", from)
	}
	if name == "" && len(secrets(parsed)) > 0 {
		return "", "", fmt.Errorf("a password stands in the URL: put the URL into an environment variable and take its name, $NAME")
	}
	return scheme, address, nil
}

// plainWord is a scheme.
var plainWord = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// secrets are the passwords in a URL.
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

// Secrets are what no message may say of a URL: itself where it has a password, and the passwords.
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

// moved returns the section with the path of SQLite's file replaced.
func (s SQL) moved(to func(path string) string) SQL {
	if path, is := strings.CutPrefix(s.URL, "sqlite:"); is && path != "" && !strings.HasPrefix(path, "//") {
		s.URL = "sqlite:" + to(path)
	}
	return s
}

// below is a path of a file in that folder as whoever stands beside the folder sees it.
func below(folder, path string) string {
	if filepath.IsAbs(path) || folder == "." || path == reader.StandardInput {
		return path
	}
	return filepath.ToSlash(filepath.Join(folder, path))
}
