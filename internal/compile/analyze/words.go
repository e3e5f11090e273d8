package analyze

import (
	"go/types"

	"github.com/weft-rl/weft/fdg"
)

// word is what the analyser knows of one function or method of the vocabulary.
type word struct {
	kind fdg.Kind // empty: no node, its result depends on its arguments
	// whole: a row of the result may depend on other rows.
	whole bool
	// plain: the result says nothing about the data: a shape, a name, a counter.
	plain bool
	// taint: the result is a batch's numbers as Go data.
	taint bool
	shape string // of the result, if not that of the arguments
	// refuse: it has no place in a loop; what to write instead.
	refuse string
}

const (
	envShape  = "[env, ...]"
	timeShape = "[env, time, ...]"
	rowsShape = "[rows, ...]"
	oneShape  = "[]"
)

var (
	rowwise   = word{kind: fdg.Batch}
	crossing  = word{kind: fdg.Batch, whole: true}
	wordless  = word{}            // only moves its arguments
	plainWord = word{plain: true} // same everywhere
	hostRead  = word{kind: fdg.Batch, whole: true, taint: true}
)

func refused(instead string) word { return word{refuse: instead} }

// words are the vocabulary, by package, receiver and name.
var words = map[string]word{
	"env.Batch.Obs":    {kind: fdg.Observe, shape: envShape},
	"env.Batch.Step":   {kind: fdg.Step, shape: envShape},
	"env.Batch.Spec":   plainWord,
	"env.Groups.Obs":   {kind: fdg.Observe, shape: envShape},
	"env.Groups.Step":  {kind: fdg.Step, shape: envShape},
	"env.Groups.Spec":  plainWord,
	"env.Spec.Check":   plainWord,
	"env.Sample":       refused("sample actions in a graph function, by the draws of its rl.Ctx"),
	"env.SampleGroups": refused("sample actions in a graph function, by the draws of its rl.Ctx"),

	"rl.Func.Call":          {kind: fdg.Call},
	"rl.Func.Rows":          {kind: fdg.Call},
	"rl.Loss.Grad":          {kind: fdg.Gradient},
	"rl.Opt.Apply":          {kind: fdg.Apply},
	"rl.Opt.Count":          {kind: fdg.Read, shape: oneShape},
	"rl.Params.Blend":       {kind: fdg.Blend},
	"rl.Params.Name":        plainWord,
	"rl.Params.Paths":       plainWord,
	"rl.Params.Size":        plainWord,
	"rl.Params.Version":     {kind: fdg.Read, shape: oneShape},
	"rl.Params.Tensors":     refused("read weights in a graph function, through rl.Ctx.Scope"),
	"rl.Slots.Get":          {kind: fdg.Get, shape: envShape},
	"rl.Slots.Set":          {kind: fdg.Set},
	"rl.Stats.Update":       {kind: fdg.Update, whole: true},
	"nn.Returns.Update":     {kind: fdg.Update, whole: true},
	"rl.Stats.Norm":         refused("normalise in a graph function"),
	"rl.Stats.Restore":      refused("restore in a graph function"),
	"rl.Stats.Scale":        refused("scale in a graph function"),
	"nn.Returns.Scale":      refused("scale in a graph function"),
	"rl.Component.Axis":     plainWord,
	"rl.Component.Save":     refused("leave saving to the runner, which does it between iterations"),
	"rl.Component.Load":     refused("leave loading to the runner, which does it between iterations"),
	"rl.Episodes.Count":     refused("log episodes through the runner"),
	"rl.Axis.String":        plainWord,
	"rl.Failure.Error":      plainWord,
	"rl.Space.Leaves":       plainWord,
	"rl.Space.Shape":        plainWord,
	"rl.Space.String":       plainWord,
	"replay.Rollout.Insert": {kind: fdg.Insert},
	"replay.Rollout.Drain":  {kind: fdg.Drain, shape: timeShape},
	"replay.Take":           {kind: fdg.Batch, whole: true, shape: rowsShape},

	"replay.Table.Insert":     {kind: fdg.Insert, whole: true},
	"replay.Table.Sample":     {kind: fdg.Sample, whole: true, shape: rowsShape},
	"replay.Table.Prioritise": {kind: fdg.Prioritise, whole: true},
	"replay.Table.Ready":      {kind: fdg.Read, shape: oneShape},

	"rl.Run.Next":     refused("use run.Next as the whole condition of the outermost loop: for run.Next() { ... }"),
	"rl.Run.Log":      {kind: fdg.Log},
	"rl.Run.Value":    {kind: fdg.Value, shape: oneShape},
	"rl.Run.Key":      plainWord,
	"rl.Run.Iter":     plainWord,
	"rl.Run.Steps":    plainWord,
	"rl.Run.Budget":   plainWord,
	"rl.Run.Progress": plainWord,
	"rl.Run.Every":    plainWord,
	"rl.Run.Err":      plainWord,
	"rl.Run.Scope":    refused("make components in the constructor, in the scope that it is given"),
	"rl.Run.Save":     refused("leave saving to the runner, which does it between iterations"),
	"rl.Run.Load":     refused("leave loading to the runner, which does it between iterations"),
	"rl.Key.Fold":     plainWord,
	"rl.Key.Use":      plainWord,
	"rl.Key.At":       plainWord,
	"rl.Key.Words":    plainWord,
	"rl.Key.Uniform":  refused("draw in a graph function, by row, or use run.Key where a key is asked for"),
	"rl.Key.IntN":     refused("draw in a graph function, by row, or use run.Key where a key is asked for"),
	"rl.Key.Rand":     refused("draw in a graph function, by row, or use run.Key where a key is asked for"),
	"rl.Key.Bits":     refused("draw in a graph function, by row, or use run.Key where a key is asked for"),
	"rl.NewKey":       refused("use run.Key, which belongs to the iteration"),

	"rl.Select": rowwise, "rl.Keep": rowwise, "rl.Or": rowwise, "rl.Zero": rowwise, "rl.Shift": rowwise, "rl.Stack": rowwise, "rl.Column": rowwise,
	"rl.GAE": rowwise, "rl.Lambda": rowwise, "rl.NStep": rowwise, "rl.VTrace": rowwise, "rl.Step.Done": rowwise,
	"rl.Standardise": crossing,
	"rl.Mean":        {kind: fdg.Batch, whole: true, shape: oneShape},
	"rl.Gather":      {kind: fdg.Batch, whole: true, shape: rowsShape},
	"rl.Scalar":      {kind: fdg.Batch, shape: oneShape},
	"rl.One":         wordless, "rl.NewTree": wordless, "rl.Tree.At": wordless, "rl.Tree.Leaf": wordless,
	"rl.Leaves": wordless, "rl.Rebuild": wordless,
	"rl.Tree.Len": plainWord, "rl.Tree.Has": plainWord, "rl.Tree.Names": plainWord, "rl.LeafNames": plainWord,
	"rl.Tensor.Ok": plainWord, "rl.Tensor.String": plainWord,
	"rl.Tensor.Shape": hostRead, "rl.Tensor.Rows": hostRead, // a shard has fewer rows
	"rl.Floats": hostRead, "rl.Read": hostRead, "rl.NotFinite": hostRead, "rl.Outside": hostRead, "rl.SameMemory": hostRead,
	"rl.Choices":     plainWord,
	"rl.Map":         refused("compute in a graph function"),
	"rl.Tree.Map":    refused("compute in a graph function"),
	"rl.Wrap":        refused("compute in a graph function"),
	"rl.Tensor.Node": refused("compute in a graph function"),
	"rl.FromFlat":    refused("make tensors in the constructor, or from numbers with rl.Scalar"),
	"rl.Fail":        refused("return an error from the constructor; in a loop operations fail by themselves"),
	"rl.Failf":       refused("return an error from the constructor; in a loop operations fail by themselves"),
	"rl.Train":       refused("let the runner call Train"),
	"rl.Catch":       refused("let failures end the run"),
	"nn.Schedule":    plainWord, // a call of a schedule
	"rl.Run.Phase":   wordless,
	"rl.Run.At":      wordless,
}

// wordOf is the name of a function or method of the vocabulary.
func wordOf(f *types.Func) (string, bool) {
	rel, ok := inVocabulary(f.Pkg())
	if !ok {
		return "", false
	}
	if recv := f.Signature().Recv(); recv != nil {
		if n := namedOf(recv.Type()); n != nil {
			return rel + "." + n.Obj().Name() + "." + f.Name(), true
		}
	}
	return rel + "." + f.Name(), true
}

// Word is the name of a function or method of the vocabulary, as in rl.Run.Key;
// empty for any other.
func Word(f *types.Func) string {
	if f == nil {
		return ""
	}
	name, _ := wordOf(f)
	return name
}

// namedOf is the declared type behind a pointer, or nil.
func namedOf(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := types.Unalias(t).(*types.Named)
	return n
}

// isNamed reports whether t is, or points to, a type of the vocabulary.
func isNamed(t types.Type, rel, name string) bool {
	n := namedOf(t)
	if n == nil || n.Obj().Name() != name {
		return false
	}
	r, ok := inVocabulary(n.Obj().Pkg())
	return ok && r == rel
}

// makers are the constructors of components.
var makers = map[string]objectKind{
	"rl.NewParams": paramsObject, "rl.NewOpt": optObject, "rl.NewStats": statsObject, "rl.NewSlots": slotsObject,
	"rl.NewFunc": funcObject, "rl.NewLoss": lossObject, "replay.NewRollout": rolloutObject, "nn.NewReturns": returnsObject,
	"replay.NewTable": tableObject,
	"env.Graph":       envObject, "env.Hosts": envObject, "env.Open": envObject, "env.OpenAs": envObject,
	"env.OpenGroups": envObject, "env.OpenGroupsAs": envObject, "env.GraphGroups": envObject,
	"algo.MakeEnv.Batch": envObject, "algo.MakeEnv.Groups": envObject,
}
