// Package algo defines how a package offers an algorithm: a name, a typed configuration, presets,
// and a constructor. The built-in algorithms are in its folders; an author's own, in another
// module, are made the same way.
//
//   - An algorithm is one file, which reads from the loop down. Algorithms share embedded settings
//     (nn.Rate, nn.Layers, nn.Proximal), networks (nn.ActorCritic) and an agent (rl.Acting);
//     presets are functions on the settings.
//   - One loop may be several algorithms: a struct that embeds the settings gives them other
//     defaults by a tag, and is defined under a name of its own with the same constructor, as
//     dqn.C51 is. Programs are generated once, for the loop.
package algo
