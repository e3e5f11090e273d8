package onnx

import (
	"github.com/gomlx/compute/dtypes"
	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of ONNX that a model consists of, and how they become bytes. The numbers are the
// fields of onnx.proto3; fields that a model here never has are left out.

// message is a protocol buffer under construction.
type message []byte

func (m message) text(field protowire.Number, s string) message {
	if s == "" {
		return m
	}
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) raw(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

func (m message) number(field protowire.Number, x int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(x))
}

func (m message) numbers(field protowire.Number, xs []int64) message {
	for _, x := range xs {
		m = m.number(field, x)
	}
	return m
}

// elementTypes are ONNX's numbers of element types.
var elementTypes = map[dtypes.DType]int64{
	dtypes.Float32: 1, dtypes.Uint8: 2, dtypes.Int8: 3, dtypes.Uint16: 4, dtypes.Int16: 5, dtypes.Int32: 6, dtypes.Int64: 7,
	dtypes.Bool: 9, dtypes.Float16: 10, dtypes.Float64: 11, dtypes.Uint32: 12, dtypes.Uint64: 13, dtypes.BFloat16: 16,
}

// model returns the bytes of a ModelProto.
func (m Model) wire(graph message) []byte {
	out := message(nil).number(1, irVersion).text(2, "weft").text(6, m.Doc).raw(7, graph).raw(8, message(nil).number(2, opset))
	for _, e := range m.Meta {
		out = out.raw(14, message(nil).text(1, e.Key).text(2, e.Value))
	}
	return out
}

// tensor is a TensorProto: a constant or a weight.
type tensor struct {
	name string
	dims []int64
	of   dtypes.DType
	data []byte
}

func (t tensor) wire() message {
	return message(nil).numbers(1, t.dims).number(2, elementTypes[t.of]).text(8, t.name).raw(9, t.data)
}

// node is a NodeProto: one operator.
type node struct {
	op      string
	in, out []string
	attrs   []attribute
}

func (n node) wire() message {
	var m message
	for _, s := range n.in {
		m = protowire.AppendString(protowire.AppendTag(m, 1, protowire.BytesType), s) // an empty name is an input left out
	}
	for _, s := range n.out {
		m = m.text(2, s)
	}
	m = m.text(3, n.out[0]).text(4, n.op)
	for _, a := range n.attrs {
		m = m.raw(5, a.wire())
	}
	return m
}

// attribute is an AttributeProto: an integer, a list of them, or a text.
type attribute struct {
	name  string
	value any // int64, []int64 or string
}

func (a attribute) wire() message {
	m := message(nil).text(1, a.name)
	switch x := a.value.(type) {
	case int64:
		return m.number(3, x).number(20, 2)
	case []int64:
		return m.numbers(8, x).number(20, 7)
	case string:
		return m.text(4, x).number(20, 3)
	}
	panic("an attribute of no type of ONNX")
}

// info is a ValueInfoProto: an input or an output of the graph.
type info struct {
	name, doc string
	of        dtypes.DType
	dims      []dim
}

func (v info) wire() message {
	var shape message
	for _, d := range v.dims {
		if d.rows > 0 {
			shape = shape.raw(1, message(nil).text(2, d.String()))
		} else {
			shape = shape.raw(1, message(nil).number(1, int64(d.n)))
		}
	}
	kind := message(nil).raw(1, message(nil).number(1, elementTypes[v.of]).raw(2, shape))
	return message(nil).text(1, v.name).raw(2, kind).text(3, v.doc)
}
