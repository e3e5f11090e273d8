package mujoco

import (
	"math"

	"github.com/weft-rl/weft/env/sketch/solid"
)

func (o *InvertedPendulumOptions) task() (task, error) {
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: rail(.15, 2.3),
		obs:    motion(0, false, nil),
		start:  shaken(o.ResetNoiseScale, (*draws).uniform),
		parts:  []string{"reward_survive"},
		score: func(s *sim, parts []float64) (float64, bool) {
			fallen := !finite(s.qpos) || !finite(s.qvel) || math.Abs(s.qpos[1]) > .2
			parts[0] = 1
			if fallen {
				parts[0] = 0
			}
			return parts[0], fallen
		},
	}, nil
}

func (o *InvertedDoublePendulumOptions) task() (task, error) {
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: rail(.5, 3.5),
		reads:  []field{siteXpos, qfrcConstraint},
		obs: []piece{
			{from: positions(0, 1)},
			{positions(1, end), math.Sin},
			{positions(1, end), math.Cos},
			{velocities(0, end), clip10},
			{derived(qfrcConstraint, 0, 1), clip10},
		},
		start: shaken(o.ResetNoiseScale, (*draws).normal),
		parts: []string{"reward_survive", "distance_penalty", "velocity_penalty"},
		score: func(s *sim, parts []float64) (float64, bool) {
			tip := s.derived[siteXpos]
			x, y, v1, v2 := tip[0], tip[2], s.qvel[1], s.qvel[2]
			distance := float64(.01*(x*x)) + float64((y-2)*(y-2))
			velocity := float64(1e-3*(v1*v1)) + float64(5e-3*(v2*v2))
			fallen := y <= 1
			parts[0], parts[1], parts[2] = o.HealthyReward, -distance, -velocity
			if fallen {
				parts[0] = 0
			}
			return parts[0] - distance - velocity, fallen
		},
	}, nil
}

func (o *ReacherOptions) task() (task, error) {
	const fingertip, target = 0, 1
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: above(solid.Vec{}, .9, true),
		reads:  []field{xpos}, bodies: []string{"fingertip", "target"},
		obs: []piece{
			{positions(0, 2), math.Cos},
			{positions(0, 2), math.Sin},
			{from: positions(2, end)},
			{from: velocities(0, 2)},
			{from: func(s *sim) []float64 { return s.between(target, fingertip)[:2] }},
		},
		start: func(s *sim, d *draws) {
			goal := len(s.qpos) - 2
			for i := range goal {
				s.qpos[i] += d.uniform(.1)
			}
			for again := true; again; again = !(math.Hypot(s.qpos[goal], s.qpos[goal+1]) < .2) {
				s.qpos[goal], s.qpos[goal+1] = d.uniform(.2), d.uniform(.2)
			}
			d.nudge(s.qvel[:len(s.qvel)-2])
		},
		parts: []string{"reward_dist", "reward_ctrl"},
		score: func(s *sim, parts []float64) (float64, bool) {
			parts[0] = -s.distance(target, fingertip) * o.RewardDistWeight
			parts[1] = -actionCost(o.RewardControlWeight, s.action)
			return parts[0] + parts[1], false
		},
	}, nil
}

func (o *PusherOptions) task() (task, error) {
	const hand, object, goal = 0, 1, 2
	return task{
		setup: o.Setup, xml: o.XMLFile, skip: o.FrameSkip,
		camera: above(solid.Vec{.2, -.3}, 2.1, true),
		reads:  []field{xpos}, bodies: []string{"tips_arm", "object", "goal"},
		obs: []piece{
			{from: positions(0, 7)},
			{from: velocities(0, 7)},
			{from: body(hand)},
			{from: body(object)},
			{from: body(goal)},
		},
		start: func(s *sim, d *draws) {
			at := s.qpos[len(s.qpos)-4:]
			for again := true; again; again = !(math.Hypot(at[0], at[1]) > .17) {
				at[0], at[1] = -.3*d.unit(), d.uniform(.2)
			}
			at[2], at[3] = 0, 0
			d.nudge(s.qvel[:len(s.qvel)-4])
		},
		parts: []string{"reward_dist", "reward_ctrl", "reward_near"},
		score: func(s *sim, parts []float64) (float64, bool) {
			parts[0] = -s.distance(goal, object) * o.RewardDistWeight
			parts[1] = -actionCost(o.RewardControlWeight, s.action)
			parts[2] = -s.distance(hand, object) * o.RewardNearWeight
			return parts[0] + parts[1] + parts[2], false
		},
	}, nil
}

// nudge gives an arm a little speed.
func (d *draws) nudge(speed []float64) {
	for i := range speed {
		speed[i] += d.uniform(.005)
	}
}

// between returns the way from one of the task's bodies to another.
func (s *sim) between(from, to int) []float64 {
	for i := range s.scratch {
		s.scratch[i] = s.bodies[to][i] - s.bodies[from][i]
	}
	return s.scratch[:]
}

func (s *sim) distance(from, to int) float64 {
	v := s.between(from, to)
	return math.Sqrt(float64(v[0]*v[0]) + float64(v[1]*v[1]) + float64(v[2]*v[2]))
}
