// Package data holds data sets of episodes, from which loops learn without an environment, or
// beside one.
//
// A Source is the data: episodes, one after another, as columns of numbers. Files of package
// data/parquet are sources, a Memory is one, and an author's own type may be another (a database, a
// log, a generator); data/datatest checks it. A Set is the component that a loop draws from:
//
//		for run.Next() {
//			s := t.Data.Sample(run.Key("sample"), t.Batch)
//			g, m := t.Loss.Grad(run.Key("loss"), s.Data)
//			t.Opt.Apply(g, t.LearningRate)
//			run.Log("loss", m)
//		}
//
//	  - A draw is a function of the key alone: nothing is consumed, so the batches of a seed are the
//	    same under any number of learners, and there is no cursor. The state of a Set is the checksum
//	    of its data, by which a resumed run finds that it was given another set.
//	  - An episode of T steps is T+1 rows. Row t holds the observation before step t, the action, the
//	    reward, and whether the task ended there (terminated) or the episode was cut off (truncated).
//	    The last row holds the final observation and nothing else. So the successor of an observation
//	    is in the next row, and is stored once.
//	  - A sample has the form of one from a replay.Table, so that a loss learns from either. E names
//	    the columns that are read, by its fields.
//	  - A loop that steps no environment counts iterations as steps: --steps is the number of updates
//	    if an iteration makes one.
//	  - What is known of all rows is in the Meta: spaces, returns, the mean and deviation of
//	    observations, the returns that a score is normalised by, and a checksum of everything.
//
// Reading is by column and row, into memory of the caller. A source whose memory is a mapped file
// is as large as the disk.
package data
