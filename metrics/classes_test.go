package metrics

import "github.com/bochner-ml/bochner/datasets"

import "testing"

// Exactly the binary metrics reject a third class.
func TestBinary(t *testing.T) {
	binary := 0
	for _, m := range All() {
		if m.Task != datasets.Classification {
			if m.CheckClasses(2) == nil || m.Binary {
				t.Errorf("%s scores classes", m.Name)
			}
			continue
		}
		if refuses := m.CheckClasses(3) != nil; refuses != m.Binary && m.Name != "top_5_accuracy" {
			t.Errorf("%s: binary is %v, it refuses three classes: %v", m.Name, m.Binary, refuses)
		}
		if err := m.CheckClasses(2); err != nil && m.Name != "top_2_accuracy" && m.Name != "top_5_accuracy" {
			t.Errorf("%s of two classes: %v", m.Name, err)
		}
		if m.Binary {
			binary++
		}
	}
	if binary < 6 {
		t.Errorf("%d binary metrics", binary)
	}
	if got := PositiveClass([]string{"no", "yes"}); got != "yes" {
		t.Errorf("the positive class is %q", got)
	}
	if got := PositiveClass([]string{"a", "b", "c"}); got != "" {
		t.Errorf("of three classes %q is positive", got)
	}
}
