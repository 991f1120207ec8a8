// Package profile describes rows column by column, and tells how other rows differ from them.
package profile

// Profile describes the columns of rows.
type Profile struct {
	Rows    int      `json:"rows"`
	Columns []Column `json:"columns"`           // inputs
	Targets []Column `json:"targets,omitempty"` // likewise
}

// Column describes the values of a column.
type Column struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`                // numeric or categorical
	Missing   float64   `json:"missing"`             // share of the rows
	Min       float64   `json:"min"`                 // of numbers
	Max       float64   `json:"max"`                 //
	Mean      float64   `json:"mean"`                //
	Quantiles []float64 `json:"quantiles,omitempty"` // 0, 10, … 100 % of the numbers
	Levels    []Level   `json:"levels,omitempty"`    // the most frequent first
}

// Level is how frequent a category is.
type Level struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // of the rows that have a value
}
