package kubernetes

import (
	"bufio"
	"encoding/json"
	"net"
	"sync"
	"time"
)

// message goes between the leading pod and another one, as a line of JSON.
type message struct {
	Hello *hello `json:"hello,omitempty"` // the first one of a pod
	Start *start `json:"start,omitempty"` // to a pod: start a process
	Ask   bool   `json:"ask,omitempty"`   // to a pod: ask the process to end
	Kill  bool   `json:"kill,omitempty"`  // to a pod: kill the process
	Tail  string `json:"tail,omitempty"`  // of a pod: what the process wrote to standard error
	Ended *ended `json:"ended,omitempty"` // of a pod: the process has ended
	Leave bool   `json:"leave,omitempty"` // of a pod: it is told to leave its node
}

// hello says which pod speaks.
type hello struct {
	Job   string `json:"job"`
	Index int    `json:"index"`
	Node  string `json:"node"`
}

// start says what a pod is to run.
type start struct {
	Line  []string          `json:"line"`
	Env   []string          `json:"env"`
	Dir   string            `json:"dir"`
	Files map[string][]byte `json:"files"` // certificates, by path; they are removed with the process
}

// ended says how a process ended. Err is empty for exit code 0.
type ended struct {
	Err    string `json:"err"`
	Killed bool   `json:"killed"`
}

// A link that is silent for as long is lost; each side says something more often.
const (
	silence = 10 * time.Second
	beat    = 2 * time.Second
)

// link is one side of the connection between the leading pod and another one.
type link struct {
	conn net.Conn
	in   *bufio.Reader
	mu   sync.Mutex // of writes
}

func newLink(c net.Conn) *link { return &link{conn: c, in: bufio.NewReader(c)} }

// say sends a message. A link that is lost is seen by hear.
func (l *link) say(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		return // there is no such message
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(silence)) // closed: the write fails
	if _, err := l.conn.Write(append(text, '\n')); err != nil {
		_ = l.conn.Close() // it may be closed already
	}
}

// hear receives a message, which may be empty.
func (l *link) hear() (m message, err error) {
	if err := l.conn.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return m, err
	}
	text, err := l.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// tick keeps a link alive until done is closed.
func (l *link) tick(done <-chan struct{}) {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.say(message{})
		case <-done:
			return
		}
	}
}
