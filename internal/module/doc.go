// Package module finds, reads and builds the packages of authors. Such a package is named by its
// path. It becomes part of a binary that knows the built-in ones as well: a main package that
// exists only in a build overlay, inside the author's module, so that their dependencies are
// theirs.
//
//   - An author's policy is asked, not read. Its grouping is Go: the package is built with its
//     generated files hidden, and the binary is given the graph; then programs are generated into a
//     build overlay, and the binary that runs is built.
package module
