package main

// The drivers of the databases that data.sql names. PostgreSQL's makes the program 4.2 MB larger, SQLite's 4.0 MB.
import (
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)
