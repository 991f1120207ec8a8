package grpc

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/serve"
)

// message is an encoded message.
type message []byte

// codec leaves a message encoded if the receiver is a *message.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal copies or decodes the bytes.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, is := v.(*message); is {
		*m = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// decode decodes a message.
func decode(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return &serve.Error{Code: protocol.InvalidArgument, Message: "cannot decode the message as " +
			string(m.ProtoReflect().Descriptor().FullName())}
	}
	return nil
}

// Estimated sizes of decoded message parts, in bytes.
const (
	elementBytes = 192 // a tensor, a parameter, a string: an object with its pointer
	varintBytes  = 8
)

// Fields of ModelInferRequest and of its inputs that contain messages.
const (
	fieldInputs   = 5
	fieldContents = 5
)

// expansion is the ratio of decoded size, including the FP64 matrix, to encoded size, by field of
// InferTensorContents.
var expansion = [...]int64{1: 9, 2: 12, 3: 16, 4: 12, 5: 16, 6: 3, 7: 2, 8: 1}

// decodedBytes returns an upper bound of the decoded size of a ModelInferRequest. The message may
// be malformed.
func decodedBytes(b []byte) int64 {
	return decodedSize(b, func(field protowire.Number, v []byte) int64 {
		if field != fieldInputs {
			return decodedSize(v, nil)
		}
		return decodedSize(v, func(field protowire.Number, v []byte) int64 {
			if field == fieldContents {
				return decodedSize(v, func(field protowire.Number, v []byte) int64 {
					if int(field) < len(expansion) {
						return expansion[field] * int64(len(v))
					}
					return int64(len(v))
				})
			}
			return decodedSize(v, nil)
		})
	})
}

// decodedSize sums the decoded sizes of the fields of a message; of returns the additional bytes of a
// length-delimited field.
func decodedSize(b []byte, fieldSize func(protowire.Number, []byte) int64) (sum int64) {
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
			sum += 2*varintBytes + int64(n)
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return sum + int64(len(b))
		}
		sum += elementBytes + int64(len(v))
		if fieldSize != nil {
			sum += fieldSize(field, v)
		}
		b = b[n:]
	}
	return sum
}
