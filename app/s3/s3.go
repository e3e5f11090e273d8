// Package s3 lets a program go on with, evaluate and load runs whose checkpoints are in an
// S3-compatible object store. Import it for that alone:
//
//	import _ "github.com/weft-rl/weft/app/s3"
//
// Keys are in the environment, as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
package s3

import _ "github.com/weft-rl/weft/internal/run/store/s3" // registers itself
