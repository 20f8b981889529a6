package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// tracedCalls are the calls of a process that decide what is on the disk. The
// last ones are not modelled: a trace that has one on a file of the folder is
// refused.
const tracedCalls = "openat,close,write,pwrite64,lseek,fsync,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat," +
	"writev,pwritev,pwritev2,copy_file_range,sendfile,splice,truncate,fallocate,dup,dup2,dup3,linkat,link,symlink,symlinkat"

// sysCall is one line of a trace: a call that succeeded.
type sysCall struct {
	name  string
	args  []string // strings are decoded
	ret   int64
	begun int // calls that had ended when this one began
}

// traceReader reads what strace -f -xx writes: a line a call, in the order in
// which they ended; a call that another thread interrupted takes two lines.
type traceReader struct {
	open  map[string]openCall // by thread
	ended int
}

type openCall struct {
	text  string
	begun int
}

// read calls fn for each call that succeeded.
func (t *traceReader) read(r io.Reader, fn func(sysCall) error) error {
	t.open = map[string]openCall{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<30)
	for lines.Scan() {
		c, ok, err := t.line(lines.Text())
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		t.ended++
		if err := fn(c); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (t *traceReader) line(text string) (c sysCall, ok bool, err error) {
	thread, text, _ := strings.Cut(text, " ")
	text = strings.TrimLeft(text, " ")
	begun := t.ended
	if before, found := strings.CutSuffix(text, " <unfinished ...>"); found {
		t.open[thread] = openCall{before, begun}
		return c, false, nil
	}
	if strings.HasPrefix(text, "<... ") {
		_, rest, found := strings.Cut(text, " resumed>")
		first, known := t.open[thread]
		if !found || !known {
			return c, false, fmt.Errorf("a trace goes on with what never began: %.80q", text)
		}
		delete(t.open, thread)
		text, begun = first.text+rest, first.begun
	}
	name, rest, found := strings.Cut(text, "(")
	if !found || strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") {
		return c, false, nil
	}
	end := strings.LastIndex(rest, " = ")
	if end < 0 {
		return c, false, nil // the process died in it
	}
	ret, _, _ := strings.Cut(strings.TrimSpace(rest[end+3:]), " ")
	n, err := strconv.ParseInt(ret, 0, 64)
	if err != nil || n < 0 {
		return c, false, nil // "?" of a process that died, or a call that failed
	}
	args, err := traceArgs(strings.TrimSuffix(strings.TrimRight(rest[:end], " "), ")"))
	return sysCall{name: name, args: args, ret: n, begun: begun}, err == nil, err
}

// traceArgs parts the arguments of a call. Strings are all hexadecimal escapes.
func traceArgs(text string) ([]string, error) {
	var out []string
	for text != "" {
		text = strings.TrimLeft(text, ", ")
		if !strings.HasPrefix(text, `"`) {
			arg, rest, _ := strings.Cut(text, ",")
			out, text = append(out, arg), rest
			continue
		}
		body, rest, found := strings.Cut(text[1:], `"`)
		if !found || strings.HasPrefix(rest, "...") {
			return nil, errors.New("a trace has a string without its end")
		}
		data, err := unescape(body)
		if err != nil {
			return nil, err
		}
		out, text = append(out, data), rest
	}
	return out, nil
}

func unescape(body string) (string, error) {
	out := make([]byte, 0, len(body)/4)
	for len(body) > 0 {
		if len(body) < 4 || body[:2] != `\x` {
			return "", fmt.Errorf("a trace has %.20q where only \\xNN is known", body)
		}
		b, err := strconv.ParseUint(body[2:4], 16, 8)
		if err != nil {
			return "", err
		}
		out, body = append(out, byte(b)), body[4:]
	}
	return string(out), nil
}

// diskOp is one change of a folder, or one line of standard output.
type diskOp struct {
	kind  string // "create", "write", "truncate", "sync", "sync folder", "rename", "remove", "said"
	file  *diskFile
	name  string // within the folder
	to    string // of a rename
	at    int64
	data  []byte // of a write; the text of a line
	size  int64  // of a truncation
	begun int    // operations that had ended when this one began
}

// openFile is a file descriptor of the traced process.
type openFile struct {
	file   *diskFile // nil for the folder itself
	name   string
	append bool
	at     int64
}

// watcher turns calls into changes of one folder.
type watcher struct {
	dir   string // absolute
	files map[string]*diskFile
	fds   map[int64]*openFile
	ops   []diskOp
	ended []int // operations that had ended after each call
}

func newWatcher(dir string) *watcher {
	return &watcher{dir: dir, files: map[string]*diskFile{}, fds: map[int64]*openFile{}}
}

// inside is the name of a path within the folder; ok is false for any other.
func (w *watcher) inside(path string) (name string, ok bool) {
	if filepath.Dir(path) != w.dir {
		return "", false
	}
	return filepath.Base(path), true
}

func (w *watcher) call(c sysCall) error {
	err := w.apply(c)
	w.ended = append(w.ended, len(w.ops))
	return err
}

func (w *watcher) add(op diskOp, c sysCall) {
	if c.begun > 0 {
		op.begun = w.ended[c.begun-1]
	}
	w.ops = append(w.ops, op)
}

func (w *watcher) apply(c sysCall) error {
	switch c.name {
	case "openat":
		return w.open(c)
	case "rename":
		return w.rename(c, c.args[0], c.args[1])
	case "renameat", "renameat2":
		return w.rename(c, c.args[1], c.args[3])
	case "unlink":
		return w.remove(c, c.args[0])
	case "unlinkat":
		return w.remove(c, c.args[1])
	}
	for _, a := range c.args {
		if _, ok := w.inside(a); ok {
			return fmt.Errorf("%s of a file is not modelled", c.name)
		}
	}
	fd, err := strconv.ParseInt(c.args[0], 10, 64)
	if err != nil {
		return nil // of no file descriptor
	}
	if fd == 1 && c.name == "write" {
		w.add(diskOp{kind: "said", data: []byte(c.args[1])}, c)
		return nil
	}
	f := w.fds[fd]
	if f == nil {
		return nil
	}
	return w.descriptor(c, fd, f)
}

func (w *watcher) open(c sysCall) error {
	flags := c.args[2]
	if c.args[1] == w.dir {
		w.fds[c.ret] = &openFile{}
		return nil
	}
	name, ok := w.inside(c.args[1])
	if !ok {
		delete(w.fds, c.ret)
		return nil
	}
	file := w.files[name]
	if file == nil {
		file = &diskFile{}
		w.files[name] = file
		w.add(diskOp{kind: "create", name: name, file: file}, c)
	} else if strings.Contains(flags, "O_TRUNC") {
		w.add(diskOp{kind: "truncate", file: file, name: name}, c)
		file.length = 0
	}
	w.fds[c.ret] = &openFile{file: file, name: name, append: strings.Contains(flags, "O_APPEND")}
	return nil
}

func (w *watcher) rename(c sysCall, from, to string) error {
	a, okA := w.inside(from)
	b, okB := w.inside(to)
	if okA != okB {
		return errors.New("a rename into or out of the folder is not modelled")
	}
	if okA {
		w.files[b] = w.files[a]
		delete(w.files, a)
		w.add(diskOp{kind: "rename", name: a, to: b}, c)
	}
	return nil
}

func (w *watcher) remove(c sysCall, path string) error {
	if name, ok := w.inside(path); ok {
		delete(w.files, name)
		w.add(diskOp{kind: "remove", name: name}, c)
	}
	return nil
}

// descriptor does a call on an open file of the folder.
func (w *watcher) descriptor(c sysCall, fd int64, f *openFile) error {
	switch c.name {
	case "close":
		delete(w.fds, fd)
	case "lseek":
		f.at = c.ret
	case "write":
		if f.append {
			f.at = f.file.length
		}
		w.write(c, f, f.at)
		f.at += c.ret
	case "pwrite64":
		at, err := strconv.ParseInt(strings.TrimSpace(c.args[3]), 10, 64)
		if err != nil {
			return err
		}
		w.write(c, f, at)
	case "ftruncate":
		size, err := strconv.ParseInt(strings.TrimSpace(c.args[1]), 10, 64)
		if err != nil {
			return err
		}
		f.file.length = size
		w.add(diskOp{kind: "truncate", file: f.file, name: f.name, size: size}, c)
	case "fsync", "fdatasync":
		kind := "sync"
		if f.file == nil {
			kind = "sync folder"
		}
		w.add(diskOp{kind: kind, file: f.file, name: f.name}, c)
	default:
		return fmt.Errorf("%s of %s is not modelled", c.name, f.name)
	}
	return nil
}

func (w *watcher) write(c sysCall, f *openFile, at int64) {
	data := []byte(c.args[1])[:c.ret]
	f.file.length = max(f.file.length, at+int64(len(data)))
	w.add(diskOp{kind: "write", file: f.file, name: f.name, at: at, data: data}, c)
}
