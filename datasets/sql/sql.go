// Package sql reads the rows of a query as a stream of blocks, from any database with a driver for
// package database/sql.
//
//	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL")) // of package database/sql
//	src, err := rows.Open(ctx, db, "select rent, area, city from flats order by id", nil, rows.Options{…})
//
// Columns have the types that the database declares: numbers are numeric; Booleans are numeric,
// except that a Boolean target is a class; strings are categorical; Roles.Dates splits dates and
// times, in UTC, see [datasets.Date]. NULL, NaN, the empty string and "NaN" are missing values. If the
// database declares no type, as SQLite for computed columns, the values determine it, in a separate
// pass. Objects, arrays, bytes and other types are unsupported, unless they are dropped.
//
// Every pass runs the query again, and stores a few thousand rows. All passes read one [Snapshot]
// if the database supports it. Otherwise, or if the query does not determine the order of its rows,
// a pass with other rows than the first one, or another order, returns an error that wraps
// [datasets.ErrChanged]. A query that ends in "order by" with a unique key gives the same bits
// every time.
package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
)

// Options assign the columns to roles. With the zero value all columns are inputs.
type Options struct {
	datasets.Roles
}

// Query is one that returns rows.
type Query struct {
	Text string
	Args []any  // for its placeholders, as package database/sql takes them
	Name string // name of its rows in errors; "" is the beginning of the text
}

// Open returns the rows of a query as a source. It reads them from a [Snapshot] that ends with ctx,
// so ctx must outlive the source. Without Options.Schema it runs the query once or twice to
// determine undeclared types and the schema.
func (o Options) Open(ctx context.Context, db *sql.DB, query string, args []any) (datasets.Source, error) {
	s, err := Take(ctx, db)
	if err != nil {
		return nil, err
	}
	return s.Open(ctx, o, Query{Text: query, Args: args})
}

// Read returns the rows of a query in memory.
func (o Options) Read(ctx context.Context, db *sql.DB, query string, args []any) (datasets.Set, error) {
	s, err := Take(ctx, db)
	if err != nil {
		return datasets.Set{}, err
	}
	src, err := s.Open(ctx, o, Query{Text: query, Args: args})
	if err != nil {
		return datasets.Set{}, errors.Join(err, s.Close())
	}
	set, err := datasets.ReadAll(ctx, src)
	return set, errors.Join(err, s.Close())
}

// Snapshot is a consistent view of a database, if the database supports it. With PostgreSQL, all
// passes of all sources read one exported snapshot, in concurrent read-only transactions; it
// occupies one connection until it is closed. With other databases, or if only one connection is
// available, passes read the current content of the database.
type Snapshot struct {
	Timeout time.Duration // of each pass over a query; 0 for none

	db *sql.DB
	tx *sql.Tx // that keeps the snapshot; nil for none
	id string

	transactions bool // whether the database knows the transactions of readOnly
}

// Take takes a snapshot, which ends with ctx, or when it is closed.
func Take(ctx context.Context, db *sql.DB) (*Snapshot, error) {
	if err := db.PingContext(ctx); err != nil {
		return nil, fmt.Errorf("datasets/sql: %w", err)
	}
	s := &Snapshot{db: db}
	tx, err := db.BeginTx(ctx, &readOnly)
	if err != nil {
		return s, ctxerr.Check(ctx) // it knows no such transactions
	}
	s.transactions = true
	if db.Stats().MaxOpenConnections == 1 {
		return s, rollback(tx)
	}
	err = tx.QueryRowContext(ctx, "select pg_export_snapshot()").Scan(&s.id)
	if err != nil || strings.ContainsAny(s.id, `'\`) {
		tx.Rollback()
		s.id = ""
		return s, ctxerr.Check(ctx)
	}
	s.tx = tx
	return s, nil
}

// readOnly are transactions in which every query sees the same rows.
var readOnly = sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}

// Close ends the snapshot. Its sources cannot be read any more.
func (s *Snapshot) Close() error {
	if s.tx == nil {
		return nil
	}
	return rollback(s.tx)
}

// Open returns the concatenated rows of queries as a source. The queries have the same columns, in
// any order.
func (s *Snapshot) Open(ctx context.Context, o Options, queries ...Query) (datasets.Source, error) {
	if len(queries) == 0 {
		return nil, errors.New("datasets/sql: there is no query")
	}
	k := 0
	c, err := table.OpenAllColumns(make([]string, len(queries)), func(string) (table.Columnar, error) {
		k++
		return s.open(ctx, queries[k-1], &o)
	})
	if err != nil {
		return nil, err
	}
	return table.OpenColumns(ctx, c, o.Roles)
}

// begin starts the transaction of a query, and returns the function that ends it.
func (s *Snapshot) begin(ctx context.Context) (q querier, end func() error, err error) {
	if !s.transactions {
		return s.db, func() error { return nil }, nil
	}
	tx, err := s.db.BeginTx(ctx, &readOnly)
	if err != nil {
		return nil, nil, err
	}
	if s.tx != nil {
		if _, err := tx.ExecContext(ctx, "set transaction snapshot '"+s.id+"'"); err != nil {
			tx.Rollback()
			return nil, nil, fmt.Errorf("the snapshot has ended: %w", err)
		}
	}
	return tx, func() error { return rollback(tx) }, nil
}

// rollback ends a transaction, which may have ended with its context.
func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != sql.ErrTxDone {
		return err
	}
	return nil
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// name returns the name of the rows of a query in errors.
func (q Query) name() string {
	if q.Name != "" {
		return q.Name
	}
	const most = 60
	text := strings.Join(strings.Fields(q.Text), " ")
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}
