// Package cli is the command line: a binary of an author's own that calls Main has all of it, for
// their algorithms and environments as for the built-in ones.
//
//   - algo, app, cli and the root package are additions to the layout. cli has the command line
//     without any algorithm, so that an author's binary, and the one built on the fly for --env
//     ./pkg, are cli.Main of a larger set.
//   - What weft plan says of edges is measured: the programs run for a few iterations, and their
//     own counters are shown.
package cli
