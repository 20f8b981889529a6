package resolve

// WithWideRows runs f with lists of any length laid out as long ones are.
func WithWideRows(f func()) {
	before := fewRows
	fewRows = 0
	defer func() { fewRows = before }()
	f()
}
