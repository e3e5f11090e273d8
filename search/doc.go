// Package search is Monte-Carlo tree search as graph code: one tree for every row of a batch, all
// of them advanced together, so that each simulation is one call of the network for all rows.
//
// A search looks ahead with a [Step], which says where an action leads, and starts from a [Leaf].
// The rules of a game and a learnt model are the same to it: a state is any tree of tensors with a
// row for each tree. Values are those of the player who moves. [Next.Discount] is what a value at
// the next node is worth to the player who took the action: negative where the other player moves
// there, 0 where the episode is over.
//
//	func (p *Player) play(c *rl.Ctx, obs rl.Obs) rl.Tree {
//		found := p.Settings.Run(c, p.look(c, obs.State), p.step)
//		return rl.One(rl.Wrap(found.Best))
//	}
//
// Two searches are there. PUCT follows the prior and the mean values, as AlphaZero and MuZero do,
// with Dirichlet noise at the root. Gumbel search (Danihelka et al., 2022) samples the actions that
// it considers without replacement, halves their number as simulations pass, and returns a policy
// that is no worse than the prior, however few simulations there are.
//
//   - A tree is arrays of a fixed size with a slot for each simulation, so it cannot outgrow its
//     bound, nothing is allocated, and the search can be a part of a device program.
//   - Random numbers are drawn at the root alone, by the key of the call and the row's global
//     index. Arithmetic on a row does not look at others. So what is found for a row does not
//     depend on the rows beside it. The graph cannot show that, because rows are gathered by
//     numbers that are computed: declare the graph function that searches with rl.Func.Apart.
package search
