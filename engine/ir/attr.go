package ir

import "github.com/gomlx/compute"

// The attributes of nodes: what an operation needs besides its operands and the shapes of its
// outputs.
type (
	// Param names a parameter.
	Param struct{ Name string }

	// Literal holds the row-major bytes of a constant, aligned for its element type. It is never
	// written to.
	Literal struct{ Data []byte }

	// Axes is a list of axes: a permutation (Transpose), the axes reduced, reversed, or, for
	// BroadcastInDim, the output axis of every operand axis.
	Axes struct{ Axes []int }

	// Axis is the single axis of Concatenate and Iota.
	Axis struct{ Axis int }

	// Slice is the box taken by a Slice node.
	Slice struct{ Starts, Limits, Strides []int }

	// Pad is the padding of every axis.
	Pad struct{ Axes []compute.PadAxis }

	// Dot says which axes of DotGeneral's operands are contracted and which are batch axes.
	Dot struct{ LhsContract, LhsBatch, RhsContract, RhsBatch []int }

	// Conv is the window of a ConvGeneral node; every list has one entry for each spatial axis.
	Conv struct {
		Axes                       compute.ConvolveAxesConfig
		Strides                    []int
		Paddings                   [][2]int
		InputDilations             []int
		KernelDilations            []int
		ChannelGroups, BatchGroups int
	}

	// Window is the window of ReduceWindow and of the SelectAndScatter nodes; every list has one
	// entry for each axis.
	Window struct {
		Kind                      compute.ReduceOpType
		Dims, Strides             []int
		InputDilations, Dilations []int
		Paddings                  [][2]int
	}

	// Gather is how index vectors select slices; see compute.StandardOps.
	Gather struct {
		IndexAxis                         int
		OffsetAxes, Collapsed, Map, Sizes []int
	}

	// Scatter is how index vectors place updates; see compute.StandardOps.
	Scatter struct {
		IndexAxis                   int
		UpdateWindow, Inserted, Map []int
		Unique                      bool
	}

	// ArgMinMax is the axis searched, and for what.
	ArgMinMax struct {
		Axis  int
		IsMin bool
	}

	// Collective is how replicas join in an AllReduce: by which reduction, and which of them with
	// which. No groups is all with all.
	Collective struct {
		Kind   compute.ReduceOpType
		Groups [][]int
	}

	// Sort is the axis sorted along.
	Sort struct {
		Axis   int
		Stable bool
	}
)
