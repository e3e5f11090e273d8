package device

// Tests is a package's tests, with the devices they opened closed at their end,
// so that a check for leaked goroutines sees none of them. It is a
// goleak.TestingM.
type Tests struct{ M interface{ Run() int } }

// Run runs the tests.
func (t Tests) Run() int {
	code := t.M.Run()
	Close()
	return code
}
