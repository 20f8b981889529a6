package hosts

// WithFault makes f be asked before every change of a file, and fail it there.
func (w Wirer) WithFault(f func(op string) error) Wirer {
	w.disk.Fault = f
	return w
}
