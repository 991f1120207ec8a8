package main

// The drivers of the databases that data.sql names. PostgreSQL's makes the program 4.2 MB larger, SQLite's 4.0 MB.
import (
	"errors"

	_ "github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// SQLite connections are read-only, whatever SQL an experiment file contains.
func init() {
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error {
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
