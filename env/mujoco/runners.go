package mujoco

import (
	"math"

	"github.com/weft-rl/weft/env/sketch/solid"
)

// runner is the reward of everything that is to get ahead: speed and good health
// less the costs of action and contact.
type runner struct {
	forward, ctrl, health float64
	healthy               func(*sim) bool // nil: there is no health
	terminate             bool            // bad health is the end
	contact               func(*sim) float64
	double                bool // the cost of action in double precision
}

// The parts of its reward.
var (
	running  = []string{"reward_forward", "reward_ctrl"}
	living   = []string{"reward_forward", "reward_ctrl", "reward_survive"}
	touching = []string{"reward_forward", "reward_ctrl", "reward_survive", "reward_contact"}
)

func (r runner) score(s *sim, parts []float64) (reward float64, terminated bool) {
	forward := r.forward * ((s.x - s.last) / s.dt)
	cost := actionCost(r.ctrl, s.action)
	if r.double {
		cost = r.ctrl * sumSquares(s.ctrl)
	}
	parts[0], parts[1] = forward, -cost
	if r.healthy != nil {
		healthy := r.healthy(s)
		terminated = r.terminate && !healthy
		if healthy {
			forward += r.health
			parts[2] = r.health
		} else {
			parts[2] = 0
		}
	}
	if r.contact != nil {
		contact := r.contact(s)
		parts[3] = -contact
		cost += contact
	}
	return forward - cost, terminated
}

func firstPosition(s *sim) float64 { return s.qpos[0] }

// clip10 bounds the velocities that some tasks show.
var clip10 = interval{-10, 10}.clip

func (o *HalfCheetahOptions) task() (task, error) {
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: along(.5, 3),
		obs:    motion(1, o.ExcludePositions, nil),
		start:  shaken(o.ResetNoiseScale, (*draws).normal),
		place:  firstPosition,
		parts:  running,
		score:  runner{forward: o.ForwardRewardWeight, ctrl: o.CtrlCostWeight}.score,
	}, nil
}

func (o *SwimmerOptions) task() (task, error) {
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: above(solid.Vec{}, 7, false),
		obs:    motion(2, o.ExcludePositions, nil),
		start:  shaken(o.ResetNoiseScale, (*draws).uniform),
		place:  firstPosition,
		parts:  running,
		score:  runner{forward: o.ForwardRewardWeight, ctrl: o.CtrlCostWeight}.score,
	}, nil
}

func (o *HopperOptions) task() (task, error) {
	var r intervals
	state := r.read("healthy_state_range", o.HealthyStateRange)
	z, angle := r.read("healthy_z_range", o.HealthyZRange), r.read("healthy_angle_range", o.HealthyAngleRange)
	healthy := func(s *sim) bool {
		return allInside(state, s.qpos[2:]) && allInside(state, s.qvel) && z.inside(s.qpos[1]) && angle.inside(s.qpos[2])
	}
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: along(.75, 2.8),
		obs:    motion(1, o.ExcludePositions, clip10),
		start:  shaken(o.ResetNoiseScale, (*draws).uniform),
		place:  firstPosition,
		parts:  living,
		score: runner{
			forward: o.ForwardRewardWeight, ctrl: o.CtrlCostWeight,
			health: o.HealthyReward, healthy: healthy, terminate: o.TerminateWhenUnhealthy,
		}.score,
	}, r.err()
}

func allInside(r interval, x []float64) bool {
	for _, v := range x {
		if !r.inside(v) {
			return false
		}
	}
	return true
}

func (o *Walker2dOptions) task() (task, error) {
	var r intervals
	z, angle := r.read("healthy_z_range", o.HealthyZRange), r.read("healthy_angle_range", o.HealthyAngleRange)
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: along(.75, 2.8),
		obs:    motion(1, o.ExcludePositions, clip10),
		start:  shaken(o.ResetNoiseScale, (*draws).uniform),
		place:  firstPosition,
		parts:  living,
		score: runner{
			forward: o.ForwardRewardWeight, ctrl: o.CtrlCostWeight, health: o.HealthyReward,
			healthy:   func(s *sim) bool { return z.inside(s.qpos[1]) && angle.inside(s.qpos[2]) },
			terminate: o.TerminateWhenUnhealthy,
		}.score,
	}, r.err()
}

func (o *AntOptions) task() (task, error) {
	var r intervals
	z, force := r.read("healthy_z_range", o.HealthyZRange), r.read("contact_force_range", o.ContactForceRange)
	obs := motion(2, o.ExcludePositions, nil)
	if o.IncludeCfrcExt {
		obs = append(obs, piece{derived(cfrcExt, 6, end), force.clip})
	}
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: aslant(.4, 3.8),
		reads:  []field{xpos, cfrcExt}, bodies: []string{o.MainBody}, forces: true,
		obs:   obs,
		start: shaken(o.ResetNoiseScale, (*draws).normal),
		place: func(s *sim) float64 { return s.bodies[0][0] },
		parts: touching,
		score: runner{
			forward: o.ForwardRewardWeight, ctrl: o.CtrlCostWeight, health: o.HealthyReward,
			healthy: func(s *sim) bool {
				return finite(s.qpos) && finite(s.qvel) && z.lo <= s.qpos[2] && s.qpos[2] <= z.hi
			},
			terminate: o.TerminateWhenUnhealthy,
			contact:   func(s *sim) float64 { return o.ContactCostWeight * sumSquaresClipped(s.derived[cfrcExt], force) },
		}.score,
	}, r.err()
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func (o *HumanoidOptions) task() (task, error) {
	var r intervals
	z, cost := r.read("healthy_z_range", o.HealthyZRange), r.read("contact_cost_range", o.ContactCostRange)
	obs := motion(2, o.ExcludePositions, nil)
	for _, x := range []struct {
		wanted bool
		f      field
	}{{o.IncludeCinert, cinert}, {o.IncludeCvel, cvel}, {o.IncludeQfrcActuator, qfrcActuator}, {o.IncludeCfrcExt, cfrcExt}} {
		if x.wanted {
			obs = append(obs, piece{from: derived(x.f, worldPart[x.f], end)})
		}
	}
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: aslant(.9, 3.2),
		reads:  []field{xipos, cinert, cvel, qfrcActuator, cfrcExt},
		forces: true,
		obs:    obs,
		start:  shaken(o.ResetNoiseScale, (*draws).uniform),
		place:  massCentre,
		parts:  touching,
		score: runner{
			forward: o.ForwardRewardWeight, ctrl: o.CtrlCostWeight, double: true, health: o.HealthyReward,
			healthy:   func(s *sim) bool { return z.inside(s.qpos[2]) },
			terminate: o.TerminateWhenUnhealthy,
			contact:   func(s *sim) float64 { return cost.clip(o.ContactCostWeight * sumSquares(s.derived[cfrcExt])) },
		}.score,
	}, r.err()
}

// worldPart is how many numbers at the start of a field belong to the world, or
// to the joint that hangs the body in it.
var worldPart = [fields]int{cinert: 10, cvel: 6, qfrcActuator: 6, cfrcExt: 6}

// massCentre returns the x of the centre of all mass.
func massCentre(s *sim) float64 {
	sum := 0.
	for i, m := range s.mass {
		sum += float64(m * s.derived[xipos][3*i])
	}
	return sum / s.weight
}
