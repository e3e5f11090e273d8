// Package mujoco is Gymnasium's MuJoCo tasks (v5) in Go, on libmujoco loaded at
// run time. Dynamics, observations, rewards, ends and options are Gymnasium's,
// down to the last bit where both compute in the same order; the random numbers
// of a first state are drawn by environment and step as everywhere here, from
// Gymnasium's distributions.
//
// A task is data (task.go): a model file, the pieces of an observation, how a
// first state is drawn, and the parts of a reward. One batch steps them all, on
// the library's own threads.
//
//   - MuJoCo's structs are a table, and only for versions that cannot be asked: newer ones have a
//     batch interface that names every array, which older ones are given by a small engine of ours
//     (env/mujoco/internal/mj). A generator measures headers with a C compiler, every model that is
//     loaded is checked against the table, and a test steps one library both ways, bit for bit.
package mujoco
