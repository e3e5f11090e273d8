package main

import "github.com/weft-rl/weft/internal/launch/kubernetes/kubernetestest"

// becomeContainer returns at once, unless this process is to be a container of a test.
func becomeContainer() { kubernetestest.Main() }
