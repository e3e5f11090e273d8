// Package wrap puts things around environments of any sort: a time limit,
// normalised observations and rewards, stacked frames, rescaled and clipped
// actions, recordings of episodes and of pictures.
//
//	entry := wrap.Entry(classic.Pendulum, wrap.List{wrap.TimeLimit(100), wrap.NormalizeObs(10)}, "")
//
// The first of a list stands next to the environment. Time limits and recorders
// always do, wherever they are named: what is recorded is the environment's own
// observations, actions and rewards.
//
// What is remembered is remembered by environment, so that an environment does the
// same in every batch and on every replica: a stack of frames, and running
// statistics as well, which are those of the environment's own past and no other's.
// Gymnasium's wrappers around single environments do likewise. Where statistics
// over all environments are wanted, an algorithm's own (rl.Stats, updated once an
// iteration) are the better choice. Evaluations normalise by the statistics of all
// environments of the training together, and do not change them.
//
//   - Wrappers keep statistics by environment, so that they are row-wise like everything else about
//     environments. What they know is part of an agent's weights (rl.Weighted), and an evaluation
//     finds it in the scope above its own.
package wrap
