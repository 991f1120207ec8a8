package dataload

import (
	"strings"
	"testing"
)

func TestCheckQuery(t *testing.T) {
	for _, c := range []struct{ scheme, query, want string }{
		{"", "select a from t order by id", ""},
		{"", "SELECT a FROM t;\n", ""},
		{"", "(select a from t) union all (select b from t)", ""},
		{"", "with x as (select 1 as a) select a from x -- the end", ""},
		{"", "select replace(a, ';', 'delete') from t /* delete */", ""},
		{"", `select "update", "a;b" from "into"`, ""},
		{"", "select deleted_at, updates from t", ""},
		{"postgres", "select $$; drop table t$$, $x$ $$ $x$, a[1], b$1 from t", ""},
		{"postgres", "select a from t where b ~ '^\\d+$'", ""},
		{"sqlite", "select [a'b], `c;d` from t", ""},

		{"", "", "must be one SELECT"},
		{"", "attach 'file:x.db?mode=rw' as y", "must be one SELECT"},
		{"", "vacuum into 'x.db'", "must be one SELECT"},
		{"", "copy t to program 'sh'", "must be one SELECT"},
		{"", "do $$ begin end $$", "must be one SELECT"},
		{"", "explain analyze delete from t", "must be one SELECT"},
		{"", "values (1)", "must be one SELECT"},
		{"", "select 1; select 2", "must be one statement"},
		{"", "select 1; ;attach 'x' as y", "must be one statement"},
		{"", "select 1; 'x'", "must be one statement"},
		{"", "with x as (delete from t returning a) select a from x", "must only read, got DELETE"},
		{"", "select a into u from t", "must only read, got INTO"},
		{"", "select a from t for Update", "must only read, got UPDATE"},
		{"", "select 'a", "must end every quoted string"},
		{"", "select 1 /* a", "must end every comment"},
		{"", "select 1 /* a /* b */; delete from t */", "must not nest them"},
		{"", "select 1\x00; delete from t", "NUL"},
		{"sqlite", "select [a']; attach 'x' as y --']", "must be one statement"},
		{"sqlite", "select 1 -- a\r; attach 'x' as y", "carriage return"},
		{"sqlite", "select $$; attach 'x' as y; --$$", "must be one statement"},
		{"postgres", `select '\''; drop table t --'`, "must not contain"},
		{"postgres", `select e'\\'; drop table t --'`, "must not contain"},
		{"postgres", "select a$$; delete from t; --$$", "must be one statement"},
		{"postgres", "select $a; delete from t", "must be one statement"},
		{"postgres", "select $a$; delete from t", "must end every quoted string"},
	} {
		schemes := []string{c.scheme}
		if c.scheme == "" {
			schemes = []string{"sqlite", "postgres", "postgresql"}
		}
		for _, scheme := range schemes {
			err := checkQuery(scheme, c.query)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %q: got %v, want %q", scheme, c.query, err, c.want)
			}
		}
	}
}
