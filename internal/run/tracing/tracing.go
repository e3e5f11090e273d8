// Package tracing sends traces of the phases of runs to an OpenTelemetry collector, by OTLP over
// HTTP or gRPC. The variables of the OpenTelemetry specification say how:
// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and so on. A trace is continued by another process
// that is given its parent, in the form of a W3C traceparent.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-rl/weft/internal/run/phase"
)

// Variables of the environment.
const (
	endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesVariable   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable = "OTEL_EXPORTER_OTLP_PROTOCOL"
	parentVariable   = "TRACEPARENT"
)

// Exporter sends the spans of this process. A nil Exporter begins nil spans, which do nothing.
type Exporter struct {
	provider *sdk.TracerProvider
	endpoint string // empty: what the environment says
}

// Check reports what is wrong with an endpoint; an empty one is right.
func Check(endpoint string) error {
	u, err := url.Parse(endpoint)
	if endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%q is not the address of an OTLP collector, such as http://localhost:4318", endpoint)
	}
	return nil
}

// Open returns an exporter to the collector at endpoint, or, if that is empty, to the one that the
// environment names; nil if neither does. It does not wait for the collector: failed is called once
// if spans cannot be delivered.
func Open(ctx context.Context, endpoint string, failed func(error)) (*Exporter, error) {
	if endpoint == "" && !asked() {
		return nil, nil
	}
	if err := Check(endpoint); err != nil {
		return nil, err
	}
	client, err := dial(endpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "weft")),
		resource.WithHost(), resource.WithProcessPID(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, errors.Join(err, exporter.Shutdown(ctx))
	}
	var once sync.Once
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { once.Do(func() { failed(err) }) }))
	return &Exporter{sdk.NewTracerProvider(sdk.WithBatcher(exporter, sdk.WithBatchTimeout(time.Second)), sdk.WithResource(about)), endpoint}, nil
}

// asked reports whether the environment asks for traces.
func asked() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv(endpointVariable) != "" || os.Getenv(tracesVariable) != ""
}

// dial returns the client of a collector, which connects when there is something to send.
func dial(endpoint string) (otlptrace.Client, error) {
	switch protocol := os.Getenv(protocolVariable); protocol {
	case "", "http/protobuf":
		var o []otlptracehttp.Option
		if endpoint != "" {
			o = append(o, otlptracehttp.WithEndpointURL(strings.TrimRight(endpoint, "/")+"/v1/traces"))
		}
		return otlptracehttp.NewClient(o...), nil
	case "grpc":
		var o []otlptracegrpc.Option
		if endpoint != "" {
			o = append(o, otlptracegrpc.WithEndpointURL(endpoint))
		}
		return otlptracegrpc.NewClient(o...), nil
	default:
		return nil, fmt.Errorf("%s: %q is not http/protobuf or grpc", protocolVariable, protocol)
	}
}

// flushing bounds the time that a process waits at its end for a collector.
const flushing = 5 * time.Second

// Close sends what was not sent yet.
func (e *Exporter) Close() {
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushing)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// Begin begins a span. Its parent is a traceparent; if it is empty the one of the environment, and
// without any the span begins a trace.
func (e *Exporter) Begin(name, parent string, about ...phase.Fact) *Span {
	if e == nil {
		return nil
	}
	if parent == "" {
		parent = os.Getenv(parentVariable)
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	ctx, span := e.provider.Tracer("github.com/weft-rl/weft").Start(ctx, name, trace.WithAttributes(attributes(about)...))
	return &Span{e, ctx, span}
}

// Span is a phase with phases within it. A nil Span does nothing.
type Span struct {
	exporter *Exporter
	ctx      context.Context
	span     trace.Span
}

var _ phase.Span = (*Span)(nil)

// Begin implements phase.Tracer.
func (s *Span) Begin(name string, at time.Time, about ...phase.Fact) func(error) {
	if s == nil {
		return func(error) {}
	}
	how := []trace.SpanStartOption{trace.WithAttributes(attributes(about)...)}
	if !at.IsZero() {
		how = append(how, trace.WithTimestamp(at))
	}
	_, child := s.exporter.provider.Tracer("github.com/weft-rl/weft").Start(s.ctx, name, how...)
	return func(err error) { end(child, err) }
}

// End implements phase.Span.
func (s *Span) End(err error) {
	if s != nil {
		end(s.span, err)
	}
}

func end(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Parent returns the span as a traceparent; empty of a nil span.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(s.ctx, carrier)
	return carrier["traceparent"]
}

// Env returns the variables by which a child process continues the trace.
func (s *Span) Env() (out []string) {
	if s == nil {
		return nil
	}
	if s.exporter.endpoint != "" {
		out = append(out, endpointVariable+"="+s.exporter.endpoint)
	}
	return append(out, parentVariable+"="+s.Parent())
}

func attributes(about []phase.Fact) (out []attribute.KeyValue) {
	for _, f := range about {
		switch v := f.Value.(type) {
		case int64:
			out = append(out, attribute.Int64("weft."+f.Name, v))
		case string:
			out = append(out, attribute.String("weft."+f.Name, v))
		}
	}
	return out
}
