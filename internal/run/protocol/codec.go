package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// codec writes a message as the length of its JSON, the JSON, and the tail.
type codec struct{}

// Name of the codec, as gRPC asks for it.
func (codec) Name() string { return "weft" }

// tail returns the tail of a message, if it has one.
func tail(message any) *[]byte {
	switch m := message.(type) {
	case *Up:
		return &m.Tail
	case *Down:
		return &m.Tail
	case *Stage:
		return &m.Tail
	case *Chunk:
		return &m.Tail
	}
	return nil
}

// Marshal returns a message as bytes.
func (codec) Marshal(message any) ([]byte, error) {
	head, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	t := tail(message)
	size := 4 + len(head)
	if t != nil {
		size += len(*t)
	}
	if size > MaxMessage {
		return nil, fmt.Errorf("a message of %d bytes: at most %d may be sent", size, MaxMessage)
	}
	out := make([]byte, 4, size)
	binary.BigEndian.PutUint32(out, uint32(len(head)))
	out = append(out, head...)
	if t != nil {
		out = append(out, *t...)
	}
	return out, nil
}

// Unmarshal returns bytes as a message.
func (codec) Unmarshal(data []byte, message any) error {
	if len(data) < 4 {
		return errors.New("a message is cut short")
	}
	n := binary.BigEndian.Uint32(data)
	data = data[4:]
	if uint64(n) > uint64(len(data)) {
		return fmt.Errorf("a message of %d bytes says that its head has %d", len(data), n)
	}
	if err := json.Unmarshal(data[:n], message); err != nil {
		return fmt.Errorf("not a message: %w", err)
	}
	t := tail(message)
	switch rest := data[n:]; {
	case t != nil:
		*t = append([]byte(nil), rest...) // gRPC uses its memory again
	case len(rest) > 0:
		return fmt.Errorf("a message is followed by %d further bytes", len(rest))
	}
	return nil
}
