// Package nn is what a learning algorithm needs beside GoMLX: networks with the
// initial values that reinforcement learning is used to, distributions of
// actions, optimisers, schedules, and the normalisation of rewards.
//
// Everything here is graph code on GoMLX nodes, and GoMLX's own layers mix with
// it freely.
//
// # Networks
//
// A network is a value with a method Apply, a function of the graph under
// construction, the scope of its weights and the input:
//
//	net := nn.MLP{Hidden: []int{64, 64}, Out: head.Units(), OutGain: .01}
//	y := net.Apply(c, c.Scope(params).At("pi"), x)
//
// Applying it twice with the same scope shares the weights. A weight's initial
// value depends on the seed and on the weight's path, so it does not matter in
// which order networks are built. Every row of the output depends on the same
// row of the input alone: there is no batch normalisation, and a policy may
// split a batch wherever it likes.
//
// Recurrent networks are cells, run over time by Unroll, which clears the memory
// where an episode begins.
//
// # Distributions
//
// A Dist is one distribution of actions for each row, whatever the leading axes:
// [rows, k] and [env, time, k] both do. A Head makes the right one for a space
// of actions from the outputs of a network:
//
//	head := nn.NewHead(space)
//	d := head.Dist(c, sc, y, obs.Legal)
//	action, entropy := d.Sample(c, "action"), d.Entropy()
//
// # Optimisers
//
// Adam, SGD, RMSProp and ClipNorm are rules for rl.NewOpt, with the arithmetic
// of PyTorch. The learning rate is an argument of Opt.Apply, where a Schedule of
// the run's progress gives it.
//
//   - Optimiser rules are ours (nn.Adam and others): GoMLX's compute the gradient and apply it in
//     one call, keep their learning rate as a variable and decay it by their own clock.
//   - A rule sees all parameters as one vector, tensor after tensor: one loop over all numbers, and
//     norms are one reduction.
//   - Statistics are updated after learning, once an iteration, so that acting and learning in it
//     normalise alike and the first epoch's probability ratio is 1.
package nn
