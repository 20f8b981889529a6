//go:build !unix

package duck

// private does nothing where files have no mode; the folder's rights hold.
func private() func() { return func() {} }
