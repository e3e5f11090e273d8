package core

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/internal/run/part"
)

// happen plays one round of a simulation.
func (s *sim) happen(faults bool) {
	s.round++
	if faults {
		s.misfortune()
	}
	s.clients(faults)
	for _, c := range s.coords {
		if c.frozen > 0 {
			c.frozen--
		} else if !c.dead {
			s.coordinate(c)
		}
	}
	for _, w := range s.workers {
		if w.frozen > 0 {
			w.frozen--
			continue
		}
		if !w.dead {
			s.work(w)
		}
	}
}

// misfortune decides what goes wrong in a round.
func (s *sim) misfortune() {
	w := s.workers[s.rng.IntN(len(s.workers))]
	n := s.rng.IntN(200)
	s.troubles(w, n)
	switch {
	case n < 4:
		w.dead, w.job = true, nil
		s.cut(w)
	case n < 8:
		w.frozen = 1 + s.rng.IntN(20)
	case n < 12:
		s.cut(w)
	case n < 13:
		s.acting().dead = true
	case n < 14:
		s.acting().frozen = 1 + s.rng.IntN(20)
	case n < 15:
		s.elect() // the old one does not know yet
	case n < 17:
		s.acting().dead = true
		s.unsynced(fmt.Sprint("r", 1+s.rng.IntN(3)))
	case n < 21:
		s.leave(w)
	}
}

// clients submit runs, ask again until they are answered, and stop some.
func (s *sim) clients(faults bool) {
	if len(s.want) < 3 && s.chance(5) {
		name := fmt.Sprint("r", len(s.want)+1)
		s.want[name], s.async[name] = 1+s.rng.IntN(3), s.chance(50)
		if s.async[name] {
			s.want[name] = 2 + s.rng.IntN(3)
		}
		if s.chance(30) {
			s.most[name] = s.want[name] + 1 + s.rng.IntN(2)
		}
		s.unheard = append(s.unheard, name)
	}
	c := s.acting()
	if c.dead || c.frozen > 0 {
		return
	}
	for _, name := range slices.Clone(s.unheard) {
		s.tell(c, Submitted{Name: name, ID: name, Config: "config", Ticket: int64(name[1] - '0')})
	}
	if faults && s.rng.IntN(500) == 0 {
		s.tell(c, StopAsked{"r2", s.chance(20), 0})
	}
}

// coordinate plays a coordinator's round: it hears some of what was sent to it.
func (s *sim) coordinate(c *coord) {
	for _, w := range s.workers {
		if w.conn == nil || w.conn.to != c {
			continue
		}
		s.hear(c, w)
	}
	if len(c.plans) > 0 && s.chance(50) && !c.dead {
		p := c.plans[0]
		c.plans = c.plans[1:]
		s.tell(c, s.planned(p))
	}
	if !c.dead {
		s.tell(c, Tick{})
	}
}

func (s *sim) planned(p MakePlan) Event {
	x := spread(len(p.Workers), int64(s.want[p.Run]), p.Shards)
	if most, ok := s.most[p.Run]; ok {
		x = spread(len(p.Workers), int64(most), 0)
	} else if s.chance(5) {
		return PlanFailed{Asked: p.Asked, Why: "not now", Short: true}
	}
	if s.async[p.Run] {
		x = sparing(x)
	}
	return PlanMade{p.Asked, x}
}

// hear handles what came of a worker, as the shell does.
func (s *sim) hear(c *coord, w *simWorker) {
	conn := w.conn
	for len(conn.up) > 0 && s.chance(70) && !c.dead {
		e := conn.up[0]
		conn.up = conn.up[1:]
		if l, ok := e.(line); ok {
			switch j := w.job; {
			case !s.write(l):
				s.tell(c, RecordGap{l.run, l.epoch, "lines are missing"})
			case j != nil && j.Run == l.run && j.Epoch == l.epoch:
				j.acknowledged = max(j.acknowledged, l.at+1)
			}
			continue
		}
		if from, short := s.incomplete(e); short {
			s.tell(c, RecordGap{from.Run, from.Epoch, "lines are lost"})
			continue
		}
		s.tell(c, e)
		if s.chance(5) && !c.dead {
			s.tell(c, e) // once more
		}
	}
	switch {
	case c.dead:
	case conn.broken && len(conn.up) == 0:
		s.tell(c, Lost{w.name, conn.session})
		w.conn = nil
	case w.frozen > 0 || w.dead:
		if conn.quiet++; conn.quiet == 4 {
			s.tell(c, Silent{w.name, conn.session})
		}
	default:
		if conn.quiet >= 4 {
			s.tell(c, Heard{w.name, conn.session})
		}
		conn.quiet = 0
	}
}

// incomplete reports whether a worker says something that is true only of a record with
// more lines.
func (s *sim) incomplete(e Event) (From, bool) {
	switch e := e.(type) {
	case Committing:
		return e.From, s.short(e.From, e.Manifest.Step)
	case PartDone:
		return e.From, s.short(e.From, e.Progress.Steps)
	}
	return From{}, false
}

// cut breaks a worker's connection; what was under way may be lost.
func (s *sim) cut(w *simWorker) {
	if w.conn == nil {
		return
	}
	w.conn.broken = true
	w.conn.down = nil
	w.conn.up = w.conn.up[:s.rng.IntN(len(w.conn.up)+1)]
}

// work plays a worker's round.
func (s *sim) work(w *simWorker) {
	if w.conn != nil && !w.conn.broken && (w.conn.to.dead || w.conn.to.frozen > 0 || w.conn.to != s.acting()) {
		w.alone++ // nothing is heard of the coordinator
		if w.alone > 3 {
			s.cut(w)
		}
	}
	if w.conn == nil || w.conn.broken {
		if w.alone++; w.alone > 8 {
			w.job = nil // its lease is over
		}
		s.join(w)
		return
	}
	for len(w.conn.down) > 0 && s.chance(80) {
		d := w.conn.down[0]
		w.conn.down = w.conn.down[1:]
		s.obey(w, d)
	}
	if w.job != nil && w.conn != nil {
		s.train(w)
	}
}

// join connects a worker to the coordinator that acts.
func (s *sim) join(w *simWorker) {
	c := s.acting()
	if c.dead || c.frozen > 0 || s.chance(50) {
		return
	}
	if w.conn != nil && w.conn.to == c && len(w.conn.up) > 0 {
		return // the end of the old connection has not been seen
	}
	if w.conn != nil && w.conn.to == c {
		s.tell(c, Lost{w.name, w.conn.session})
	}
	s.session++
	w.conn, w.alone = &conn{to: c, session: s.session}, 0
	e := Joined{Worker: Worker{Name: w.name, Instance: w.instance, Session: s.session, Cores: 1, Devices: []string{"cpu"}, Binary: w.program, Draining: w.draining}}
	if j := w.job; j != nil {
		e.Doing = &Doing{Run: j.Run, Epoch: j.Epoch, Life: j.Life, Ready: j.ready, Progress: part.Progress{Steps: j.step, Halted: j.halted()}}
	}
	w.conn.up = append(w.conn.up, e)
	if j := w.job; j != nil { // what was not answered is sent again
		for at := j.acknowledged; at < j.lines; at++ {
			w.conn.up = append(w.conn.up, line{run: j.Run, epoch: j.Epoch, at: at, step: start(j) + int64(at+1)*stride})
		}
		if j.pending != nil {
			w.conn.up = append(w.conn.up, Committing{s.from(w), *j.pending, j.pending.Step})
		}
		switch {
		case j.failed != "":
			w.conn.up = append(w.conn.up, PartFailed{From: s.from(w), Error: j.failed, Peer: j.peer, Fault: j.fault})
		case j.done && j.Owner():
			w.conn.up = append(w.conn.up, PartDone{s.from(w), part.Progress{Steps: j.step, Halted: j.halted()}})
		case j.done:
			w.conn.up = append(w.conn.up, PartDone{s.from(w), part.Progress{}})
		}
	}
}

func start(j *job) int64 {
	if j.From == nil {
		return 0
	}
	return j.From.Step
}

func (s *sim) from(w *simWorker) From {
	return From{w.name, w.conn.session, w.job.Run, w.job.Epoch, w.job.Life}
}

// obey does what a worker does with what it is told.
func (s *sim) obey(w *simWorker, d Decision) {
	switch d := d.(type) {
	case Assign:
		w.job = &job{Assignment: d.Assignment, spokes: map[int]*job{}}
		w.job.step, w.job.kept = start(w.job), start(w.job)
	case Start:
		if w.job != nil && s.from(w) == d.From {
			w.job.started = true
		}
	case Halt:
		if w.job != nil && s.from(w) == d.From {
			w.job.halt = true
		}
	case Abort:
		if w.job != nil && s.from(w) == d.From {
			w.job = nil
		}
	case Answer:
		s.committed(w, d)
	case Drain:
		w.draining = true
	case Dismiss:
		s.dismissed(w)
	}
}

// committed checks that what was answered is true.
func (s *sim) committed(w *simWorker, d Answer) {
	j := w.job
	if j == nil || j.pending == nil || j.pending.Step != d.Ticket {
		return
	}
	if d.Err != "" {
		w.job = nil
		return
	}
	if kept := s.look(j.Run); kept.step() < j.pending.Step {
		s.complain("%s: the checkpoint of step %d was answered and not kept", j.Run, j.pending.Step)
	}
	j.kept, j.pending = j.pending.Step, nil
}

// train plays a part's round.
func (s *sim) train(w *simWorker) {
	j := w.job
	send := func(e Event) { w.conn.up = append(w.conn.up, e) }
	switch {
	case j.failed != "" || j.done:
	case !j.ready:
		if s.connects(w) && s.chance(40) {
			j.ready = true
			send(PartReady{s.from(w)})
		}
	case !j.started:
	case !j.Owner() && j.Plan.Sparing():
		s.produce(w)
	case !j.Owner():
		if o := s.owner(j); o != nil && o.step == total && o.pending == nil {
			j.done = true
			send(PartDone{s.from(w), part.Progress{}})
		}
	case j.halt && j.pending == nil && j.kept < j.step:
		s.save(w)
	case j.step < total && !j.halt:
		s.advance(w)
	case j.pending == nil:
		j.done = true
		send(PartDone{s.from(w), part.Progress{Steps: j.step, Halted: j.halted()}})
	}
}

// halted reports whether a job is to end before its time.
func (j *job) halted() bool { return j.halt && j.step < total }

// save has a checkpoint committed.
func (s *sim) save(w *simWorker) {
	if !s.keeps(w) {
		return
	}
	w.job.pending = &part.Manifest{Epoch: w.job.Epoch, Step: w.job.step}
	w.conn.up = append(w.conn.up, Committing{s.from(w), *w.job.pending, w.job.step})
}

// owner returns the part that decides about a job's epoch.
func (s *sim) owner(j *job) *job {
	for _, w := range s.workers {
		if w.job != nil && w.job.Run == j.Run && w.job.Epoch == j.Epoch && w.job.Owner() {
			return w.job
		}
	}
	return nil
}

// advance plays an iteration. Of a synchronous run all take part in it or none.
func (s *sim) advance(w *simWorker) {
	j := w.job
	n := 0
	if j.Plan.Sparing() {
		s.detach(j)
		if n = len(j.Workers); s.chance(50) {
			return
		}
	}
	for _, o := range s.workers {
		if o.job != nil && o.job.Run == j.Run && o.job.Epoch == j.Epoch && o.job.started && o.frozen == 0 && !o.dead {
			n++
		}
	}
	if n < len(j.Workers) {
		if j.alone++; j.alone > 10 {
			j.failed, j.peer = "somebody is missing", true
			w.conn.up = append(w.conn.up, PartFailed{From: s.from(w), Error: j.failed, Peer: true})
		}
		return
	}
	j.alone = 0
	if j.pending != nil && s.chance(50) {
		return
	}
	j.step += stride
	w.conn.up = append(w.conn.up, line{run: j.Run, epoch: j.Epoch, at: j.lines, step: j.step}, Progressed{s.from(w), part.Progress{Steps: j.step}})
	j.lines++
	if j.step%every == 0 && j.pending == nil || j.step == total {
		s.save(w)
	}
}

// recover replaces what is dead, as whoever runs the cluster does.
func (s *sim) recover(percent int) {
	if c := s.acting(); (c.dead || c.frozen > 4) && s.chance(percent) {
		s.elect()
	}
	for _, w := range s.workers {
		if w.dead && !w.gone && s.chance(percent) && (w.conn == nil || w.conn.to.dead) {
			s.session++
			s.upgrade(w)
			w.dead, w.instance, w.conn, w.alone = false, fmt.Sprint("process ", s.session), nil, 0
		}
	}
}

// play runs faults for a while, then lets everything heal and come to an end.
func (s *sim) play() {
	const faulty = 200
	s.calm = faulty
	for range faulty {
		s.recover(10)
		s.happen(true)
	}
	for _, w := range s.workers[1:] {
		w.gone = w.dead && s.chance(50)
	}
	if s.chance(30) {
		s.elect() // when somebody is gone for good
	}
	for range 1500 {
		s.recover(100)
		s.happen(false)
		if len(s.wrong) > 0 || s.over() {
			break
		}
	}
	s.end()
}

// over reports whether nothing is left to do.
func (s *sim) over() bool {
	if len(s.want) < 3 || len(s.unheard) > 0 || s.acting().dead || len(s.acting().core.Runs) < 3 {
		return false
	}
	for _, r := range s.acting().core.Runs {
		if !r.Phase.Over() {
			return false
		}
	}
	for _, w := range s.workers {
		if w.job != nil && !w.job.done || w.conn != nil && len(w.conn.up)+len(w.conn.down) > 0 {
			return false
		}
	}
	return true
}
