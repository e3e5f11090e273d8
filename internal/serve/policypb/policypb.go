// Package policypb is the gRPC interface of package serve. Its code is generated from policy.proto:
//
//	protoc --go_out=. --go-grpc_out=. --go_opt=paths=source_relative --go-grpc_opt=paths=source_relative policy.proto
package policypb

import _ "embed"

// Proto holds the interface as its file describes it, for clients in other languages.
//
//go:embed policy.proto
var Proto string
