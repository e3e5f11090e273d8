// Package device opens what computations run on, by the names users give.
//
// A process has one device of a name, and everything in it shares that: its
// threads are as many as the machine's cores, and runs side by side must not
// each bring their own.
//
//   - A process has one device of a name. Seeds that run side by side share its threads.
package device
