//go:build !linux && !darwin

package main

import "errors"

// limitFiles cannot be done on this system.
func limitFiles(int64) error { return errors.New("file sizes cannot be limited on this system") }
