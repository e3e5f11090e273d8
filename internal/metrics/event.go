package metrics

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers below are those of TensorFlow's event.proto, summary.proto,
// tensor.proto and types.proto, as far as they are written here.
const (
	eventWallTime    = 1
	eventStep        = 2
	eventFileVersion = 3
	eventSummary     = 5
	eventSessionLog  = 7

	summaryValue = 1

	valueTag      = 1
	valueSimple   = 2
	valueTensor   = 8
	valueMetadata = 9

	metadataPlugin = 1
	pluginName     = 1

	tensorType   = 1
	tensorShape  = 2
	tensorString = 8
	typeString   = 7

	sessionStatus = 1
	sessionStart  = 1
)

// frame appends data as one TFRecord: length, checksum of the length, data,
// checksum of the data.
func frame(b, data []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(b[at:]))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, maskedCRC(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC returns the checksum of a TFRecord. The mask keeps the checksum of data
// that itself contains checksums from being degenerate.
func maskedCRC(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

func fileVersionEvent(wall float64) []byte {
	return appendText(event(wall, 0), eventFileVersion, "brain.Event:2")
}

// sessionStartEvent makes TensorBoard forget the points it has read so far at
// the step and after it.
func sessionStartEvent(wall float64, step int64) []byte {
	return appendMessage(event(wall, step), eventSessionLog, appendInt(nil, sessionStatus, sessionStart))
}

func scalarsEvent(wall float64, step int64, values []Value) []byte {
	var summary []byte
	for _, v := range values {
		value := appendText(nil, valueTag, v.Name)
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(v.X)))
		summary = appendMessage(summary, summaryValue, value)
	}
	return appendMessage(event(wall, step), eventSummary, summary)
}

func textEvent(wall float64, step int64, tag, text string) []byte {
	tensor := appendInt(nil, tensorType, typeString)
	tensor = appendMessage(tensor, tensorShape, nil) // no dimensions: a scalar
	tensor = appendText(tensor, tensorString, text)
	plugin := appendText(nil, pluginName, "text")
	value := appendText(nil, valueTag, tag)
	value = appendMessage(value, valueTensor, tensor)
	value = appendMessage(value, valueMetadata, appendMessage(nil, metadataPlugin, plugin))
	return appendMessage(event(wall, step), eventSummary, appendMessage(nil, summaryValue, value))
}

func event(wall float64, step int64) []byte {
	b := protowire.AppendTag(nil, eventWallTime, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(wall))
	return appendInt(b, eventStep, step)
}

func appendInt(b []byte, field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(n))
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendMessage(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
