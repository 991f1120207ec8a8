package grpc

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/internal/cause"
	"github.com/bochner-ml/bochner/serve"
)

// message is one as it has come.
type message []byte

// codec leaves messages as they come to who wants them so.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal keeps the bytes, or decodes them.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, is := v.(*message); is {
		*m = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// decode reads a message.
func decode(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return &serve.Error{Code: serve.Invalid, Message: "the message is no " + string(m.ProtoReflect().Descriptor().FullName())}
	}
	return nil
}

// turns lets so many go on at a time, and so many wait.
type turns struct {
	going   chan struct{}
	waiting atomic.Int64
	most    int64
}

func newTurns(going, waiting int) *turns {
	return &turns{going: make(chan struct{}, going), most: int64(waiting)}
}

// take waits for a turn, which ends with leave.
func (t *turns) take(ctx context.Context) error {
	select {
	case t.going <- struct{}{}:
		return nil
	default:
	}
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > t.most {
		return errFull
	}
	select {
	case t.going <- struct{}{}:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errLate
		}
		return cause.Err(ctx)
	}
}

func (t *turns) leave() { <-t.going }

// What is reckoned for parts of a message once they are decoded, in bytes.
const (
	partBytes = 192 // a tensor, a parameter, a text: an object with its pointer
	varint    = 8
)

// Fields of ModelInferRequest and of its inputs that have parts of their own.
const (
	fieldInputs   = 5
	fieldContents = 5
)

// wider is how many times as many bytes the elements of a field of InferTensorContents take, once they are decoded and in a
// matrix of FP64 numbers, as packed into the message.
var wider = [...]int64{1: 9, 2: 12, 3: 16, 4: 12, 5: 16, 6: 3, 7: 2, 8: 1}

// reckon returns how many bytes a ModelInferRequest takes at most, once it is decoded; it need not be one.
func reckon(b []byte) int64 {
	return parts(b, func(field protowire.Number, v []byte) int64 {
		if field != fieldInputs {
			return parts(v, nil)
		}
		return parts(v, func(field protowire.Number, v []byte) int64 {
			if field == fieldContents {
				return parts(v, func(field protowire.Number, v []byte) int64 {
					if int(field) < len(wider) {
						return wider[field] * int64(len(v))
					}
					return int64(len(v))
				})
			}
			return parts(v, nil)
		})
	})
}

// parts adds up what the fields of a message take, those with a length as of says.
func parts(b []byte, of func(protowire.Number, []byte) int64) (sum int64) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return sum + int64(len(b))
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, b); n < 0 {
				return sum + int64(len(b))
			}
			sum += 2*varint + int64(n)
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return sum + int64(len(b))
		}
		sum += partBytes + int64(len(v))
		if of != nil {
			sum += of(field, v)
		}
		b = b[n:]
	}
	return sum
}
