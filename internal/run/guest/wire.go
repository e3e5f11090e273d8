package guest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/weft-rl/weft/internal/run/part"
)

// kind is the kind of a message.
type kind string

// What a program says.
const (
	hello    kind = "hello"
	ready    kind = "ready"
	commit   kind = "commit"
	progress kind = "progress"
	quiet    kind = "quiet"
	record   kind = "record"
	note     kind = "note"
	done     kind = "done"
	failed   kind = "failed"
)

// What a worker says.
const (
	assign kind = "assign"
	answer kind = "answer" // to the message of that number
	halt   kind = "halt"
)

// message is one of either side.
type message struct {
	Kind       kind             `json:"kind"`
	Number     int64            `json:"number,omitempty"` // of a message that is answered
	Version    int              `json:"version,omitempty"`
	Setup      *Setup           `json:"setup,omitempty"`
	Assignment *part.Assignment `json:"assignment,omitempty"`
	Manifest   *part.Manifest   `json:"manifest,omitempty"`
	Progress   *part.Progress   `json:"progress,omitempty"`
	Workers    []string         `json:"workers,omitempty"`
	Lines      []byte           `json:"lines,omitempty"`
	Text       string           `json:"text,omitempty"` // note, or why a message was not obeyed
	Failure    *part.Failure    `json:"failure,omitempty"`
}

const (
	maxMessage = 128 << 20 // bytes of an assignment, as JSON
	maxSaid    = 4 << 20   // bytes of a program's message
	piece      = 256 << 10 // bytes of lines in a message
)

// line is a connection between a worker and a program.
type line struct {
	conn net.Conn
	mu   sync.Mutex // held while a message is sent
}

// send sends a message. Any goroutine may call it.
func (l *line) send(m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.conn.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text)))); err != nil {
		return err
	}
	_, err = l.conn.Write(text)
	return err
}

// recv waits for a message of so many bytes at most.
func (l *line) recv(most uint32) (m message, err error) {
	var size [4]byte
	if _, err := io.ReadFull(l.conn, size[:]); err != nil {
		return m, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > most {
		return m, fmt.Errorf("a message of %d bytes: at most %d are taken", n, most)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(l.conn, text); err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}
