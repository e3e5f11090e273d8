package observe

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-rl/weft/internal/serve"
)

var (
	servedVersion  = described("policy_version", "Step of the training that the newest weights of a policy are of.", "policy")
	servedLoads    = described("policy_loads_total", "Times that weights of a policy were loaded.", "policy")
	servedRequests = described("policy_requests_total", "Requests for actions answered, by status.", "policy", "status")
	servedSeconds  = described("policy_request_seconds", "Time that requests for actions took.", "policy")
	servedBatches  = described("policy_batches_total", "Batches of requests computed.", "policy")
	servedRows     = described("policy_rows_total", "Requests in these batches.", "policy")
)

// Policies returns the metrics of a policy server.
func Policies(s *serve.Server) prometheus.Collector { return policies{s} }

type policies struct{ *serve.Server }

// Describe sends nothing: which metrics there are depends on the requests.
func (p policies) Describe(chan<- *prometheus.Desc) {}

// Collect sends the counts of all policies.
func (p policies) Collect(ch chan<- prometheus.Metric) {
	to := sender(ch)
	for _, s := range p.Stats() {
		to.gauge(servedVersion, float64(s.Version), s.Policy)
		to.counter(servedLoads, s.Loads, s.Policy)
		to.counter(servedBatches, s.Batches, s.Policy)
		to.counter(servedRows, s.Rows, s.Policy)
		total := uint64(0)
		for status, n := range s.Requests {
			to.counter(servedRequests, n, s.Policy, strconv.Itoa(status))
			total += uint64(n)
		}
		buckets, below := map[float64]uint64{}, uint64(0)
		for i, b := range serve.Bounds {
			below += s.Took[i]
			buckets[b] = below
		}
		ch <- prometheus.MustNewConstHistogram(servedSeconds, total, s.Seconds, buckets, s.Policy)
	}
}
