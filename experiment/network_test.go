package experiment

import "testing"

// inspect lists the inputs of a trained network by relevance.
func TestNetworkRelevance(t *testing.T) {
	t.Chdir(t.TempDir())
	execute(t, spec(t, "data: {dataset: iris}\npipeline: [standardize, {rff_network: {features: 20, epochs: "+
		"30}}]\noutput: {dir: out}\n"))
	m, err := Inspect("out/model.bochner")
	if err != nil || len(m.Relevance) != 1 || m.Relevance[0].Step != "rff_network" {
		t.Fatalf("%+v, %v", m.Relevance, err)
	}
	inputs := m.Relevance[0].Inputs
	if len(inputs) != 4 || inputs[0].Relevance != 1 || inputs[0].Name[:5] != "petal" || inputs[1].Name[:5] != "petal" ||
		inputs[3].Relevance <= 0 {
		t.Errorf("%+v", inputs)
	}
}
