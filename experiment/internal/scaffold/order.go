package scaffold

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

const (
	minOrderedRows = 50 // rows from which ascending times are no chance
	minGroups      = 10 // groups from which folds by group have enough of them

	minCorrelation = 0.3 // correlation with the number of the row from which a column has a trend
)

var (
	groupName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(.*[_ .-])?(id|uuid|guid)$`)
	})
	entityName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(patient|subject|user|customer|client|person|participant|respondent|household|` +
			`speaker|session|device|engine|vehicle|driver)([_ .-]?(id|no|nr|num|number|code|key)|#)?$`)
	})
	camelID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[a-z](Id|ID)$`) })
)

// rowOrder decides whether the rows of a draft are in the order of time or in groups.
type rowOrder struct{ *draft }

// detect decides whether the rows are in the order of time, and whether they belong to groups. The
// given columns take precedence.
func (d rowOrder) detect(timeColumn, groupColumn string) error {
	var errs []error
	for _, name := range []string{timeColumn, groupColumn} {
		switch {
		case name == "":
		case d.sparse:
			errs = append(errs, fmt.Errorf("%s: sparse rows have no column of times or groups, got %q", d.paths, name))
		case d.goal.column != nil && d.goal.column.name == name:
			errs = append(errs, fmt.Errorf("%s: column %q is the target and cannot be the time or the group", d.paths, name))
		case d.inputOf(name) == nil:
			errs = append(errs, fmt.Errorf("%s: no column %q; there are %s", d.paths, name, suggest.List(d.names())))
		}
	}
	if len(errs) > 0 || d.sparse || d.task.Unsupervised() {
		return errors.Join(errs...)
	}
	if err := d.timeOrder(timeColumn); err != nil {
		return err
	}
	if groupColumn == "" && d.time == "" {
		groupColumn = d.repeatedEntity()
	}
	if c := d.inputOf(groupColumn); c != nil {
		c.use, c.reason, c.caveat, d.group = grouping, "", "", groupColumn
		d.report("Column %s repeats: %s values in %d rows. Folds and test rows keep the rows of each together.",
			printable(c.name), about(c.tally), c.values())
	}
	return nil
}

// inputOf returns the input of a name, nil if there is none.
func (d rowOrder) inputOf(name string) *columnPlan {
	at := slices.IndexFunc(d.inputs, func(c columnPlan) bool { return c.name == name })
	if at < 0 {
		return nil
	}
	return &d.inputs[at]
}

// report passes a decision to the caller.
func (d rowOrder) report(format string, args ...any) {
	if d.remark != nil {
		d.remark(fmt.Sprintf(format, args...))
	}
}

// timeOrder looks for a column of times in ascending order, or checks the given one.
func (d rowOrder) timeOrder(given string) error {
	for i := range d.inputs {
		c := &d.inputs[i]
		if given != "" && c.name != given || given == "" && c.use != dates && !timeName().MatchString(c.name) {
			continue
		}
		t := c.times()
		switch complete := t.count == c.values() && t.count > 0; {
		case given != "" && (!complete || !t.sorted()):
			return fmt.Errorf("%s: the rows must ascend by the time %q, which must be a date or number; sort the file by it",
				d.paths, c.name)
		case given == "" && (!complete || c.rows < minOrderedRows || t.falling > 0 && t.rising > 0):
			continue
		case t.sorted():
			d.time = c.name
			d.report("The rows ascend by %s: folds and test rows keep the order of time.", printable(c.name))
			d.dropElapsed(c)
			return nil
		case t.falling > 0:
			d.doubts = append(d.doubts, fmt.Sprintf("The rows descend by %s: sort them ascending, and take search.cv: "+
				"{kind: time} to score by rows that come later", printable(c.name)))
			return nil
		}
	}
	return nil
}

// dropElapsed drops the time itself, of dates the elapsed time, unless the target has a trend: all test
// rows are out of the range of the training rows, where a kernel machine does not extrapolate.
func (d rowOrder) dropElapsed(c *columnPlan) {
	parts := slices.DeleteFunc(slices.Clone(c.date.Parts), func(part string) bool { return part == "elapsed" })
	switch {
	case math.Abs(d.goal.column.trend.correlation()) > minCorrelation:
	case len(parts) > 0:
		c.date.Parts = parts
	case len(d.inputs) > 1:
		c.use, c.reason, c.caveat = dropped, "later rows are out of its range, and the target has no trend", ""
	}
}

// times returns the order of the times in a column of dates or numbers.
func (c *columnPlan) times() *trend {
	if c.use != dates {
		return &c.trend
	}
	return &c.profile.dates[slices.Index(dateOrders[:], c.date.Order)].trend
}

// repeatedEntity returns the column whose name and values are those of entities with several rows
// each, "" if there is none. A column with many rows for each value is rather a category, unless
// its name is that of an entity.
func (d rowOrder) repeatedEntity() string {
	for _, c := range d.inputs {
		values, distinct := c.values(), c.tally.distinct()
		whole := c.whole.count == values
		entity := entityName().MatchString(c.name) && (whole || 20*distinct > values)
		named := entity || 20*distinct > values && (groupName().MatchString(c.name) || camelID().MatchString(c.name))
		if named && (whole || c.numbers[d.notation] == 0) && c.missing == 0 && distinct >= minGroups &&
			2*distinct <= values && c.unfit == "" {
			return c.name
		}
	}
	return ""
}

// write writes the group column, and doubts about the order of the rows.
func (d rowOrder) write() {
	if d.group != "" {
		d.line("  group: %s # repeated: folds and test rows keep the rows of each value together", config.Flow(d.group))
	}
	for _, text := range d.doubts {
		d.doubt("  ", "%s.", strings.TrimSuffix(text, "."))
	}
}
