package grpc_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/datasets"
	served "github.com/bochner-ml/bochner/distributed/grpc"
	"github.com/bochner-ml/bochner/distributed/grpc/internal/inference"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/transformer"
)

// fit fits a model to random rows: age and city, or numbers a, b and c.
func fit(schema datasets.Schema, e estimator.Estimator, classes bool) *modelfile.Model {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 80
	data := datasets.Set{X: mat.NewDense(n, len(schema.Columns), nil), Schema: schema, Y: make([]float64, n)}
	data.Schema.Targets = []datasets.Column{{Name: "y"}}
	steps := []transformer.Fitter{transformer.NewStandardize()}
	if classes {
		data.Schema.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
		steps = []transformer.Fitter{pipeline.NewColumns(
			pipeline.Group{Name: "numeric", Select: []string{"numeric"},
				Steps: pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize())},
			pipeline.Group{Name: "categorical", Select: []string{"categorical"}, Steps: pipeline.Steps(transformer.NewOneHot())},
		)}
	}
	for i := range n {
		sum := 0.0
		for j, c := range schema.Columns {
			v := rng.NormFloat64()
			if c.Kind == datasets.Categorical {
				v = float64(rng.IntN(len(c.Categories)))
			}
			data.X.(*mat.Dense).Set(i, j, v)
			sum += v
		}
		if data.Y[i] = sum; classes {
			data.Y[i] = math.Min(1, math.Floor(math.Abs(sum)))
		}
	}
	f, err := pipeline.Steps(steps...).Then(e).Fit(context.Background(), data)
	if err != nil {
		panic(err)
	}
	m, err := modelfile.New(f)
	if err != nil {
		panic(err)
	}
	return m
}

// fitted contains the models.
var fitted = sync.OnceValue(func() map[string]*modelfile.Model {
	mixed := datasets.Schema{Columns: []datasets.Column{{Name: "age"},
		{Name: "city", Kind: datasets.Categorical, Categories: []string{"Paris", "Oslo"}}, {Name: "size"}}}
	numeric := datasets.Schema{Columns: []datasets.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	return map[string]*modelfile.Model{
		"rent":   fit(numeric, estimator.NewRidge(), false),
		"chance": fit(mixed, estimator.NewLogistic(), true),
	}
})

// started returns a server of both models.
func started(t testing.TB, o serve.Options) *serve.Server {
	t.Helper()
	s, err := serve.New(o)
	for name, m := range fitted() {
		if err == nil {
			err = s.AddModel(name, "1", m)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listening serves s until end is called, which returns the error of Serve.
func listening(t testing.TB, s *serve.Server, o serve.ListenOptions) (addr string, end func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- served.Serve(ctx, s, l, o) }()
	end = sync.OnceValue(func() error {
		stop()
		return <-done
	})
	t.Cleanup(func() { end() })
	return l.Addr().String(), end
}

// client connects to a server.
func client(t testing.TB, addr string, o ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(addr, append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())},
		o...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// asked starts a server of both models and returns a client.
func asked(t testing.TB, o serve.Options) *grpc.ClientConn {
	t.Helper()
	addr, _ := listening(t, started(t, o), serve.ListenOptions{})
	return client(t, addr)
}

// call invokes a method of the protocol.
func call(ctx context.Context, c *grpc.ClientConn, method string, in, out proto.Message, o ...grpc.CallOption) error {
	return c.Invoke(ctx, "/inference.GRPCInferenceService/"+method, in, out, o...)
}

// infer requests predictions.
func infer(t testing.TB, c *grpc.ClientConn, in *inference.ModelInferRequest,
	o ...grpc.CallOption) *inference.ModelInferResponse {
	t.Helper()
	var out inference.ModelInferResponse
	if err := call(t.Context(), c, "ModelInfer", in, &out, o...); err != nil {
		t.Fatal(err)
	}
	return &out
}

// matrix is a request for the model rent.
func matrix(values ...float64) *inference.ModelInferRequest {
	return &inference.ModelInferRequest{ModelName: "rent", Id: "7",
		Inputs: []*inference.ModelInferRequest_InferInputTensor{{
			Name: "X", Datatype: "FP64", Shape: []int64{int64(len(values) / 3), 3},
			Contents: &inference.InferTensorContents{Fp64Contents: values},
		}}}
}

// until waits for a condition.
func until(t testing.TB, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not become true")
		}
	}
}

// slow is a model that blocks until it is released.
type slow struct {
	may chan struct{}
	at  *atomic.Int64 // rows that wait
}

func (m slow) Fit(context.Context, datasets.Set) (estimator.Predictor, error) { return m, nil }

func (m slow) Predict(ctx context.Context, X mat.Matrix) ([]float64, error) {
	switch n, _ := X.Dims(); n {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, errors.New("must be one row at a time")
	}
	v := X.At(0, 0)
	if v < 0 {
		panic("broken")
	}
	m.at.Add(1)
	defer m.at.Add(-1)
	select {
	case <-m.may:
		return []float64{v}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slowly returns a server with a slow model m.
func slowly(t testing.TB, o serve.Options) (*serve.Server, slow) {
	t.Helper()
	m := slow{make(chan struct{}), new(atomic.Int64)}
	f, err := pipeline.Steps().Then(m).Fit(context.Background(), datasets.Set{X: mat.NewDense(1, 1, nil), Y: []float64{0}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := modelfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(o)
	if err == nil {
		err = s.AddModel("m", "1", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// number is a request of one row for the model m.
func number(v float64) *inference.ModelInferRequest {
	return &inference.ModelInferRequest{ModelName: "m", Inputs: []*inference.ModelInferRequest_InferInputTensor{{
		Name: "X", Datatype: "FP64", Shape: []int64{1, 1},
		Contents: &inference.InferTensorContents{Fp64Contents: []float64{v}},
	}}}
}

// inferDirect predicts the tensors of a request, as a front end does.
func inferDirect(s *serve.Server, r *protocol.InferRequest) (*protocol.InferResponse, error) {
	admission, err := s.Admit()
	if err != nil {
		return nil, err
	}
	defer admission.Finish()
	return admission.Infer(context.Background(), r)
}
