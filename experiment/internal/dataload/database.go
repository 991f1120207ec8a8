package dataload

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	rows "github.com/bochner-ml/bochner/datasets/sql"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// drivers maps the scheme of a URL to the driver of package database/sql and its package.
var drivers = map[string]struct{ name, from string }{
	"postgres":   {"pgx", "github.com/jackc/pgx/v5/stdlib"},
	"postgresql": {"pgx", "github.com/jackc/pgx/v5/stdlib"},
	"sqlite":     {"sqlite", "modernc.org/sqlite"},
}

// connectTimeout is the timeout of the connection to a database.
const connectTimeout = 20 * time.Second

// queryTimeout is the time limit of a pass over a query of SQLite, which an experiment file may make
// endless.
const queryTimeout = time.Hour

// Addressed checks the address and the driver of a database, without connecting.
func Addressed(s config.SQL) error {
	_, _, err := addressed(s)
	return err
}

// addressed returns the driver of the database, and its name for the database.
func addressed(s config.SQL) (driver, source string, err error) {
	scheme, address, err := s.Address()
	if err != nil {
		return "", "", err
	}
	d := drivers[scheme]
	if !slices.Contains(sql.Drivers(), d.name) {
		return "", "", fmt.Errorf("this program has no driver for %s; %s, or import _ %q in Go", scheme,
			suggest.CompleteCommand, d.from)
	}
	path, is := strings.CutPrefix(address, "sqlite:")
	if !is {
		return d.name, address, nil
	}
	if _, err := rowfile.Stat(path); err != nil {
		return "", "", files.Tell(err)
	}
	return d.name, "file:" + escaped.Replace(path) + "?mode=ro&_query_only=1", nil
}

// escaped escapes the special characters in the name of an SQLite file.
var escaped = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

// Connect connects to the database of the section and starts a snapshot, which lasts until the
// returned function is called or ctx ends. It does nothing if the section names no database, or is
// connected already.
func Connect(ctx context.Context, data *config.Data) (end func() error, err error) {
	if !data.SQL.Given() || data.Asked != nil {
		return func() error { return nil }, nil
	}
	driver, source, err := addressed(data.SQL)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, unreachable(source, err)
	}
	soon, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err = db.PingContext(soon)
	var taken *rows.Snapshot
	if err == nil {
		taken, err = rows.Take(ctx, db)
	}
	if err != nil {
		db.Close()
		if ctx.Err() != nil {
			return nil, ctxerr.Check(ctx)
		}
		return nil, unreachable(source, err)
	}
	scheme, _, _ := data.SQL.Address()
	if scheme != "sqlite" && !config.SuperuserAllowed(ctx) {
		err = checkRole(ctx, db)
	}
	if err != nil {
		return nil, errors.Join(err, taken.Close(), db.Close())
	}
	if scheme == "sqlite" { // it runs in this process
		taken.Timeout = queryTimeout
	}
	data.Asked = database{taken, scheme}
	return func() error { return errors.Join(taken.Close(), db.Close()) }, nil
}

// checkRole returns an error if the role can become one that writes files or runs programs on the
// server of PostgreSQL. A read-only transaction does not keep a superuser from doing so.
func checkRole(ctx context.Context, db *sql.DB) error {
	var user, role string
	err := db.QueryRowContext(ctx, `select session_user, rolname from pg_roles
		where pg_has_role(session_user, oid, 'member') and (rolsuper or rolname in
			('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))
		order by rolname = session_user desc limit 1`).Scan(&user, &role)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the privileges of the role: %w", err)
	case user == role:
		return fmt.Errorf("the role %q is a superuser; use a read-only role or pass --allow-superuser", user)
	}
	return fmt.Errorf("the role %q is a member of %q, which can access files and programs of the server; use a "+
		"read-only role or pass --allow-superuser", user, role)
}

// unreachable returns on one line why a database does not respond, without a password.
func unreachable(source string, err error) error {
	why, _, _ := strings.Cut(err.Error(), "\n")
	var at *net.OpError
	var name *net.DNSError
	var last interface{ SQLState() string } // of PostgreSQL, which has answered
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = fmt.Sprintf("it does not answer within %v", connectTimeout)
	case errors.As(err, &name):
		why = name.Error()
	case errors.As(err, &at):
		why = at.Error()
	case errors.As(err, &last):
		why = fmt.Sprint(last)
	}
	for _, secret := range config.Secrets(source) {
		why = strings.ReplaceAll(why, secret, "…")
	}
	return fmt.Errorf("cannot connect to the database: %s", why)
}

// database is a snapshot of one.
type database struct {
	*rows.Snapshot
	scheme string
}

// queriesOf returns the queries, or an error for the first one that does more than read.
func (d database) queriesOf(strs []string) ([]rows.Query, error) {
	out := make([]rows.Query, len(strs))
	for k, text := range strs {
		out[k] = rows.Query{Text: text}
		if err := checkQuery(d.scheme, text); err != nil && len(strs) > 1 {
			return nil, fmt.Errorf("query %d: %w", k+1, err)
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d database) Open(ctx context.Context, roles datasets.Roles, queries ...string) (datasets.Source, error) {
	list, err := d.queriesOf(queries)
	if err != nil {
		return nil, err
	}
	return d.Snapshot.Open(ctx, rows.Options{Roles: roles}, list...)
}

func (d database) Digest(ctx context.Context, queries ...string) (string, error) {
	if len(queries) == 0 {
		return "", nil
	}
	list, err := d.queriesOf(queries)
	if err != nil {
		return "", err
	}
	return d.Snapshot.Digest(ctx, list...)
}
