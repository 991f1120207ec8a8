package golearn

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sjwhitworth/golearn/base"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/matrices"
)

// FromGrid returns the rows of a grid. Class attributes are the targets, all other attributes the
// inputs, in the order of the grid. A grid with class attributes only, as golearn's classifiers
// return, gives rows without columns.
//
// The rows of a *base.DenseInstances are read directly from its storage. Those of other grids, such
// as views and filtered instances, are read cell by cell in the order of row numbers, because views
// iterate in an unspecified order.
//
// It returns an error for duplicate attribute names, an unknown attribute type, a categorical value
// without a name, and a panic of golearn.
func FromGrid(grid base.FixedDataGrid) (datasets.Set, error) {
	t, err := open(grid)
	if err != nil {
		return datasets.Set{}, err
	}
	var inputs, classes []attribute
	for _, a := range t.attributes {
		if a.class {
			classes = append(classes, a)
		} else {
			inputs = append(inputs, a)
		}
	}
	return t.set(inputs, classes)
}

// fromInputs returns the rows of a grid without targets, for prediction. It omits class attributes
// and attributes with the name of a target.
func fromInputs(grid base.FixedDataGrid, targets []datasets.Column) (datasets.Set, error) {
	t, err := open(grid)
	if err != nil {
		return datasets.Set{}, err
	}
	inputs := slices.DeleteFunc(slices.Clone(t.attributes), func(a attribute) bool {
		return a.class || slices.ContainsFunc(targets, func(c datasets.Column) bool { return c.Name == a.GetName() })
	})
	return t.set(inputs, nil)
}

// table is a grid with its attributes.
type table struct {
	grid       base.FixedDataGrid
	rows       int
	attributes []attribute
}

// attribute is an attribute of a grid, with its reader.
type attribute struct {
	base.Attribute
	spec  base.AttributeSpec
	kind  kind
	class bool
}

// open returns the table of a grid, with the types of its attributes.
func open(grid base.FixedDataGrid) (table, error) {
	t := table{grid: grid}
	if grid == nil {
		return t, fmt.Errorf("golearn: no grid")
	}
	err := recoverAs("looking at attributes", func() error {
		_, t.rows = grid.Size()
		classes := grid.AllClassAttributes()
		seen := map[string]bool{}
		for _, a := range grid.AllAttributes() {
			k, err := kindOf(a)
			if err != nil {
				return err
			}
			if seen[a.GetName()] {
				return fmt.Errorf("golearn: two attributes are called %q; attributes are matched by name", a.GetName())
			}
			seen[a.GetName()] = true
			spec, err := grid.GetAttribute(a)
			if err != nil {
				return fmt.Errorf("golearn: attribute %s: %w", a.GetName(), err)
			}
			class := slices.ContainsFunc(classes, a.Equals)
			t.attributes = append(t.attributes, attribute{a, spec, k, class})
		}
		return nil
	})
	return t, err
}

// set reads the inputs and the classes.
func (t table) set(inputs, classes []attribute) (datasets.Set, error) {
	var out datasets.Set
	if t.rows == 0 || len(inputs)+len(classes) == 0 {
		return out, fmt.Errorf("golearn: %w: %d rows, %d attributes that are no class", datasets.ErrEmpty, t.rows,
			len(inputs))
	}
	var cells []cell
	if len(inputs) > 0 {
		X := mat.NewDense(t.rows, len(inputs), nil)
		out.X = X
		for j, a := range inputs {
			out.Schema.Columns = append(out.Schema.Columns, columnOf(a.Attribute))
			cells = append(cells, newCell(a, X.RawMatrix().Data, len(inputs), j))
		}
	} else { // a mat.Dense has columns
		none, err := matrices.NewCSR(t.rows, 0, make([]int, t.rows+1), nil, nil)
		if err != nil {
			return out, fmt.Errorf("golearn: %w", err)
		}
		out.X = none
	}
	var targets []float64
	for j, a := range classes {
		if targets == nil {
			targets = make([]float64, t.rows*len(classes))
		}
		out.Schema.Targets = append(out.Schema.Targets, classColumnOf(a.Attribute, len(classes) == 1))
		cells = append(cells, newCell(a, targets, len(classes), j))
	}
	switch {
	case len(classes) == 1:
		out.Y = targets
	case len(classes) > 1:
		out.Targets = mat.NewDense(t.rows, len(classes), targets)
	}
	return out, recoverAs("reading rows", func() error { return t.read(cells) })
}

// cell locates the values of an attribute in a row of a group, and their destination.
type cell struct {
	attribute
	values uint64    // number of categories
	to     []float64 // row i goes to to[i·stride + column]
	stride int
	column int
	at     int // offset in a row of its group: in bytes, or in bits for a binary attribute
}

func newCell(a attribute, to []float64, stride, column int) cell {
	c := cell{attribute: a, to: to, stride: stride, column: column}
	if category, ok := a.Attribute.(*base.CategoricalAttribute); ok {
		c.values = uint64(len(category.GetValues()))
	}
	return c
}

// read fills in the cells of every row.
func (t table) read(cells []cell) error {
	if dense, ok := t.grid.(*base.DenseInstances); ok {
		groups, rest := groupsOf(dense, cells, t.rows)
		for _, g := range groups {
			if err := g.read(t.rows); err != nil {
				return err
			}
		}
		cells = rest
	}
	const block = 256 // rows per block, so that the output stays in the cache across columns
	for first := 0; first < t.rows; first += block {
		for k := range cells {
			if err := t.readCell(&cells[k], first, min(first+block, t.rows)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readCell reads a cell of the rows in [first, last).
func (t table) readCell(c *cell, first, last int) error {
	for i := first; i < last; i++ {
		v, err := c.decode(t.grid.Get(c.spec, i))
		if err != nil {
			return fmt.Errorf("golearn: row %d, attribute %s: %w", i, c.GetName(), err)
		}
		c.to[i*c.stride+c.column] = v
	}
	return nil
}

// decode returns the value of golearn's encoding.
func (c *cell) decode(bytes []byte) (float64, error) {
	want := 8
	if c.kind == bit {
		want = 1
	}
	if len(bytes) != want {
		return 0, fmt.Errorf("value must have %[2]d bytes, got %[1]d", len(bytes), want)
	}
	switch c.kind {
	case float:
		return math.Float64frombits(binary.LittleEndian.Uint64(bytes)), nil
	case category:
		return c.code(binary.LittleEndian.Uint64(bytes))
	}
	if bytes[0] > 0 {
		return 1, nil
	}
	return 0, nil
}

func (c *cell) code(v uint64) (float64, error) {
	if v >= c.values {
		return 0, fmt.Errorf("value number %d of a categorical attribute with %d values", v, c.values)
	}
	return float64(v), nil
}

// group is the storage of attributes of the same width, in row-major order.
type group struct {
	storage []byte
	size    int            // size of a row in bytes
	runs    []attributeRun // adjacent float attributes
	singles []cell         // categorical and binary attributes
}

// attributeRun is a sequence of float attributes that are adjacent in a row of the group and in the
// output.
type attributeRun struct {
	from, column, length int // offset in the row in bytes, output column, number of attributes
	to                   []float64
	stride               int
}

// groupsOf locates the cells in the storage of the instances; rest contains those not found.
func groupsOf(dense *base.DenseInstances, cells []cell, rows int) (groups []group, rest []cell) {
	pending := map[base.Attribute]cell{}
	for _, c := range cells {
		pending[c.Attribute] = c
	}
	stored := dense.AllAttributeGroups()
	for _, name := range sortedNames(stored) {
		attributes := stored[name].Attributes()
		g := group{storage: stored[name].Storage(), size: stored[name].RowSizeInBytes()}
		_, bits := stored[name].(*base.BinaryAttributeGroup)
		if len(g.storage) < rows*g.size || !bits && g.size != 8*len(attributes) {
			continue
		}
		for p, a := range attributes {
			c, ok := pending[a]
			if !ok || bits != (c.kind == bit) {
				continue
			}
			delete(pending, a)
			if c.at = 8 * p; bits {
				c.at = p
			}
			g.add(c)
		}
		groups = append(groups, g)
	}
	for _, c := range cells {
		if _, ok := pending[c.Attribute]; ok {
			rest = append(rest, c)
		}
	}
	return groups, rest
}

func sortedNames(groups map[string]base.AttributeGroup) []string {
	var names []string
	for name := range groups {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// add adds a cell to the group and merges adjacent floats into runs.
func (g *group) add(c cell) {
	if c.kind != float {
		g.singles = append(g.singles, c)
		return
	}
	if last := len(g.runs) - 1; last >= 0 {
		r := &g.runs[last]
		if &r.to[0] == &c.to[0] && r.from+8*r.length == c.at && r.column+r.length == c.column {
			r.length++
			return
		}
	}
	g.runs = append(g.runs, attributeRun{from: c.at, column: c.column, length: 1, to: c.to, stride: c.stride})
}

// read fills in the cells of the group.
func (g group) read(rows int) error {
	for i := range rows {
		record := g.storage[i*g.size : (i+1)*g.size]
		for k := range g.runs {
			r := &g.runs[k]
			decodeRun(r.to[i*r.stride+r.column:][:r.length], record[r.from:][:8*r.length])
		}
		for k := range g.singles {
			c := &g.singles[k]
			v := float64(0)
			if c.kind == category {
				var err error
				if v, err = c.code(binary.LittleEndian.Uint64(record[c.at:])); err != nil {
					return fmt.Errorf("golearn: row %d, attribute %s: %w", i, c.GetName(), err)
				}
			} else if record[c.at/8]&(1<<(c.at%8)) != 0 {
				v = 1
			}
			c.to[i*c.stride+c.column] = v
		}
	}
	return nil
}

// decodeRun decodes values of eight bytes each from golearn's encoding.
func decodeRun(to []float64, from []byte) {
	for len(to) >= 4 && len(from) >= 32 {
		to[0] = math.Float64frombits(binary.LittleEndian.Uint64(from[0:]))
		to[1] = math.Float64frombits(binary.LittleEndian.Uint64(from[8:]))
		to[2] = math.Float64frombits(binary.LittleEndian.Uint64(from[16:]))
		to[3] = math.Float64frombits(binary.LittleEndian.Uint64(from[24:]))
		to, from = to[4:], from[32:]
	}
	for j := range to {
		to[j] = math.Float64frombits(binary.LittleEndian.Uint64(from[8*j:]))
	}
}
