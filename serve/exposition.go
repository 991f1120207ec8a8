package serve

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// metric is a family of the Prometheus text format: one name, and a series for each combination of label values. It is
// safe for concurrent use.
type metric struct {
	name, help, kind string
	labels           []string
	bounds           []float64      // of a histogram: ascending upper bounds of its buckets
	read             func() float64 // of a series without labels: its value, instead of a stored one; may be nil

	mu     sync.Mutex
	series map[string]*series // by their labels, as the format has them
}

// series is the state of one combination of label values.
type series struct {
	value  float64  // the sum of a histogram
	counts []uint64 // of a histogram: observations of each bucket, and above all bounds
}

// escapedLabel escapes a label value of the format.
var escapedLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// text returns the text of the first labels with the given values.
func (m *metric) text(values []string) []byte {
	var b []byte
	for k, v := range values {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(append(b, m.labels[k]...), `="`...)
		b = append(append(b, escapedLabel.Replace(strings.ToValidUTF8(v, "\uFFFD"))...), '"')
	}
	return b
}

// of returns the series of label values; the caller holds the lock.
func (m *metric) of(values []string) *series {
	text := m.text(values)
	s := m.series[string(text)]
	if s == nil {
		s = &series{}
		if m.bounds != nil {
			s.counts = make([]uint64, len(m.bounds)+1)
		}
		if m.series == nil {
			m.series = map[string]*series{}
		}
		m.series[string(text)] = s
	}
	return s
}

// add adds v to a counter or gauge.
func (m *metric) add(v float64, values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(values).value += v
}

// set replaces the value of a gauge.
func (m *metric) set(v float64, values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(values).value = v
}

// observe adds an observation to a histogram.
func (m *metric) observe(v float64, values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(values)
	s.value += v
	s.counts[sort.SearchFloat64s(m.bounds, v)]++ // a bucket includes its bound
}

// forget deletes all series whose first labels have the given values.
func (m *metric) forget(values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	prefix := string(m.text(values))
	maps.DeleteFunc(m.series, func(labels string, _ *series) bool {
		return labels == prefix || strings.HasPrefix(labels, prefix+",")
	})
}

// write writes the family in the text format, with its series sorted by their labels.
func (m *metric) write(w *bufio.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read != nil {
		m.of(nil).value = m.read()
	}
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", m.name, m.help, m.kind)
	line := func(suffix, labels, more, value string) {
		if labels != "" && more != "" {
			labels += ","
		}
		if labels += more; labels != "" {
			labels = "{" + labels + "}"
		}
		fmt.Fprintf(w, "%s%s%s %s\n", m.name, suffix, labels, value)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, labels := range slices.Sorted(maps.Keys(m.series)) {
		s := m.series[labels]
		if m.bounds == nil {
			line("", labels, "", number(s.value))
			continue
		}
		total, le := uint64(0), ""
		for k, n := range s.counts {
			if le = "+Inf"; k < len(m.bounds) {
				le = number(m.bounds[k])
			}
			total += n
			line("_bucket", labels, `le="`+le+`"`, strconv.FormatUint(total, 10))
		}
		line("_sum", labels, "", number(s.value))
		line("_count", labels, "", strconv.FormatUint(total, 10))
	}
}

// writeMetrics writes metrics in the text format of Prometheus.
func writeMetrics(w io.Writer, all []*metric) error {
	b := bufio.NewWriter(w)
	for _, m := range all {
		m.write(b)
	}
	return b.Flush()
}
