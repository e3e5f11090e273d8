package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	KillWorker        Kind = "kill worker"
	KillOwner         Kind = "kill owner" // the worker whose replica decides
	KillCoordinator   Kind = "kill coordinator"
	KillBoth          Kind = "kill worker and coordinator"
	KillAll           Kind = "kill all workers"
	KillWriting       Kind = "kill owner while it saves"
	FreezeWorker      Kind = "freeze worker" // stop a worker for longer than it takes to be given up
	FreezeOwner       Kind = "freeze owner"
	FreezeCoordinator Kind = "freeze coordinator"
	Pause             Kind = "pause worker" // stop a worker for less than that
	PauseCoordinator  Kind = "pause coordinator"
	Slow              Kind = "slow worker" // it stands still most of the time
	Leave             Kind = "leave and rejoin"
	Drain             Kind = "drain worker" // the coordinator drains a worker; another comes in its place
	CutControl        Kind = "cut control connection"
	CutData           Kind = "cut data connections"
	Drop              Kind = "drop packets" // drop both planes, for longer than it takes to be given up
	Delay             Kind = "delay packets"
	CutLink           Kind = "cut link between workers" // cut the link of two workers for longer than they try to connect; the coordinator reaches both
	HangSubmission    Kind = "hanging submission"       // submit a run whose environment is never constructed, while a worker is killed
	ReadOnly          Kind = "owner cannot write"       // a worker cannot write to the store, which others can
	HideSocket        Kind = "hide sockets"             // hide a worker's sockets, as if temporary folders were separate, while a worker is killed
	LargeRecord       Kind = "large record"             // when the owner is killed
	LoseLines         Kind = "lose unsynced lines"      // lose lines of the record, with the coordinator
	SetClock          Kind = "set clock"                // set the machine's clock forward or back, and right again
)

// trait describes a kind of fault.
type trait struct {
	kind        Kind
	least, most time.Duration // how long it lasts
	network     bool          // it needs connections that can be disturbed
	sockets     bool          // it needs workers that reach each other by Unix sockets
	asked       bool          // it is only injected if it is asked for by name
}

var traits = []trait{
	{kind: KillWorker}, {kind: KillOwner}, {kind: KillCoordinator}, {kind: KillBoth}, {kind: KillAll}, {kind: KillWriting},
	{kind: FreezeWorker, least: 2 * time.Second, most: 4 * time.Second},
	{kind: FreezeOwner, least: 2 * time.Second, most: 4 * time.Second},
	{kind: FreezeCoordinator, least: 1500 * time.Millisecond, most: 4 * time.Second},
	{kind: Pause, least: 50 * time.Millisecond, most: 500 * time.Millisecond},
	{kind: PauseCoordinator, least: 50 * time.Millisecond, most: 500 * time.Millisecond},
	{kind: Slow, least: time.Second, most: 2 * time.Second},
	{kind: Leave, least: time.Second, most: 3 * time.Second},
	{kind: Drain},
	{kind: CutControl, network: true}, {kind: CutData, network: true},
	{kind: Drop, network: true, least: 2 * time.Second, most: 4 * time.Second},
	{kind: Delay, network: true, least: time.Second, most: 2 * time.Second},
	{kind: LargeRecord}, {kind: LoseLines},
	{kind: CutLink, network: true, least: 3 * connect, most: 4 * connect},
	{kind: HangSubmission, least: time.Second, most: 3 * time.Second},
	{kind: ReadOnly, least: 4 * time.Second, most: 6 * time.Second},
	{kind: HideSocket, sockets: true},
	{kind: SetClock, asked: true, least: 2 * time.Second, most: 5 * time.Second},
}

// connect limits the attempts of workers to reach each other.
const connect = 3 * time.Second

// possible reports whether a kind can be injected with or without a network.
func (t trait) possible(network bool) bool { return network && !t.sockets || !network && !t.network }

// Kinds returns all kinds, in the order of reports.
func Kinds() (out []Kind) {
	for _, t := range traits {
		out = append(out, t.kind)
	}
	return out
}

// Fault is something that is done to a cluster.
type Fault struct {
	Kind  Kind
	Pick  int           // chooses the process that is hit
	After time.Duration // time without a fault before it
	For   time.Duration // duration
}

func (f Fault) String() string {
	if f.For == 0 {
		return fmt.Sprintf("%s (%d), after %v", f.Kind, f.Pick, f.After)
	}
	return fmt.Sprintf("%s (%d) for %v, after %v", f.Kind, f.Pick, f.For, f.After)
}

// Schedule is a sequence of faults that a seed determines.
type Schedule struct {
	rng   *rand.Rand
	kinds []Kind           // kinds to deal; nil is all
	decks map[bool][]trait // kinds that are still to be dealt, by whether there is a network
}

// NewSchedule returns the schedule of a seed, with faults of some kinds, or of all that are not to
// be asked for if none is given.
func NewSchedule(seed uint64, kinds ...Kind) *Schedule {
	return &Schedule{rng: rand.New(rand.NewPCG(seed, 0)), kinds: kinds, decks: map[bool][]trait{}}
}

// Next returns the next faults, of the kinds that are possible with a network or without. Kinds are
// dealt like cards, so that all occur equally often. There are none if no kind is possible.
func (s *Schedule) Next(n int, network bool) (out []Fault) {
	for range n {
		deck := s.decks[network]
		if len(deck) == 0 {
			deck = slices.DeleteFunc(slices.Clone(traits), func(t trait) bool {
				return !t.possible(network) || (t.asked || len(s.kinds) > 0) && !slices.Contains(s.kinds, t.kind)
			})
			s.rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		if len(deck) == 0 { // none that is asked for is possible
			return out
		}
		t := deck[0]
		s.decks[network] = deck[1:]
		out = append(out, Fault{
			Kind: t.kind, Pick: s.rng.IntN(1 << 16), After: s.between(100*time.Millisecond, 1200*time.Millisecond), For: s.between(t.least, t.most),
		})
	}
	return out
}

// between returns a time from least to most, in whole milliseconds.
func (s *Schedule) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.rng.Int64N(int64((most-least)/time.Millisecond)+1))*time.Millisecond
}
