package main

// The drivers of the databases that data.sql names. PostgreSQL's makes the program 4.2 MB larger, SQLite's 4.0 MB.
import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// maxSQLiteValue is the maximum size of a value in bytes; functions build strings of any length.
const maxSQLiteValue = 64 << 20

// SQLite connections are read-only, and their values limited, whatever SQL an experiment file
// contains.
func init() {
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error {
		if err := limitValues(c); err != nil {
			return err
		}
		authorizer, ok := c.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver of SQLite cannot limit what queries do")
		}
		return authorizer.RegisterAuthorizer(authorizeReads)
	})
}

// authorizeReads allows the actions that a SELECT needs.
func authorizeReads(action sqlite.AuthorizerActionCode, _, _, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthFunction, sqlite.AuthRecursive, sqlite.AuthTransaction:
		return sqlite.AuthorizerOK
	}
	return sqlite.AuthorizerDeny
}

// limitValues limits the values of a connection of SQLite. The driver takes it from a pool alone.
func limitValues(c any) error {
	own, ok := c.(driver.Conn)
	if !ok {
		return fmt.Errorf("the driver of SQLite must be a driver.Conn, got %T", c)
	}
	db := sql.OpenDB(borrowed{own})
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, maxSQLiteValue)
	return err
}

// borrowed is a pool of one connection, which it does not close.
type borrowed struct{ driver.Conn }

// Connect returns the connection.
func (b borrowed) Connect(context.Context) (driver.Conn, error) { return b, nil }

// Driver returns nil, for nothing asks for it.
func (b borrowed) Driver() driver.Driver { return nil }

// Close leaves the connection open.
func (b borrowed) Close() error { return nil }

// Unwrap returns the connection of SQLite.
func (b borrowed) Unwrap() driver.Conn { return b.Conn }
