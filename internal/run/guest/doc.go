// Package guest has a program that a run brought carry out a worker's part of it. The program is a
// child of the worker's process, and speaks with it over a socket that it was born with: the worker
// hands the assignment down, and what the part has to report goes up and, as if it were the
// worker's own, to the coordinator. So a program needs no certificate of the cluster, and its
// version may be another than the worker's as long as both know the same Version.
//
// The child ends with its worker, and with its part. It has no variables of the worker's
// environment but those that are listed here, no keys of an object store, whose objects of that run
// it has through the worker, a folder of its own for temporary files, and a
// listener for the data plane, whose certificate is made of the secret of the epoch.
package guest

// Version is the version of the protocol between a worker and a program. A program of another
// version is refused.
const Version = 1

// Command is the command of a program that carries out a part.
const Command = "guest"

// Setup tells a program of the machine that it is on.
type Setup struct {
	Place   string   `json:"place"`             // store of the checkpoints
	Remote  bool     `json:"remote,omitempty"`  // the program reaches it through the worker
	Allow   []string `json:"allow,omitempty"`   // files and folders that the run may name
	Connect int64    `json:"connect,omitempty"` // nanoseconds after which a silent peer is unreachable; 0 is the default
}
