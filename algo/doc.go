// Package algo is what an algorithm's package offers to whoever runs it: a name,
// a typed configuration, presets, and a constructor. The built-in algorithms
// are in its folders; an author's own, in another module, are made the same way.
//
//   - An algorithm is one file, which reads from the loop down. What several have in common is
//     embedded settings (nn.Rate, nn.Layers), a network (nn.ActorCritic) and an agent (rl.Acting);
//     presets are functions on the settings.
package algo
