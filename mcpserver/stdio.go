package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxLine is the longest message taken over stdio, in bytes. It leaves room
// for two long record lists in one call.
const MaxLine = 64 << 20

// stdioTransport carries one JSON message a line. Unlike the SDK's own it
// answers lines that are no message and goes on, delivers every answer that is
// owed when the input ends, and keeps silent about cancelled calls.
type stdioTransport struct {
	in   io.Reader
	out  io.Writer
	max  int // longest line in bytes; 0 = MaxLine
	log  *slog.Logger
	stop <-chan struct{} // when closed, reading ends and running calls are cancelled
}

// Connect starts reading. It is called once.
func (t *stdioTransport) Connect(context.Context) (mcp.Connection, error) {
	limit := t.max
	if limit == 0 {
		limit = MaxLine
	}
	c := &stdioConn{
		out:    t.out,
		log:    t.log,
		stop:   t.stop,
		lines:  make(chan line),
		closed: make(chan struct{}),
		idle:   make(chan struct{}, 1),
		owed:   map[jsonrpc.ID]bool{},
	}
	go c.readLines(bufio.NewReaderSize(t.in, 64<<10), limit)
	return c, nil
}

// line is one line of input; tooLong tells that only its start is kept.
type line struct {
	data    []byte
	tooLong bool
}

type stdioConn struct {
	log    *slog.Logger
	stop   <-chan struct{}
	lines  chan line // closed at the end of input
	closed chan struct{}
	once   sync.Once

	writeMu sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	owed    map[jsonrpc.ID]bool // requests without an answer; true = cancelled
	writing int                 // answers on their way out
	idle    chan struct{}       // told when nothing is owed or on its way
}

// SessionID is empty: a pipe is one session.
func (c *stdioConn) SessionID() string { return "" }

// Close unblocks Read. The reading goroutine ends with the input.
func (c *stdioConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *stdioConn) readLines(r *bufio.Reader, limit int) {
	defer close(c.lines)
	for {
		l, err := readLine(r, limit)
		if len(l.data) > 0 {
			select {
			case c.lines <- l:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.log.Error("read standard input", slog.Any("error", err))
			}
			return
		}
	}
}

// readLine reads up to and without the next line end. Of a line beyond the
// limit the start is kept, so that its id can be answered.
func readLine(r *bufio.Reader, limit int) (line, error) {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		if room := limit - len(l.data); len(bytes.TrimRight(part, "\r\n")) > room {
			l.tooLong = true
			part = part[:room]
		}
		l.data = append(l.data, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.data = bytes.Trim(l.data, " \t\r\n")
		return l, err
	}
}

// Read returns the next message that the server must handle. Lines that are
// none are answered here.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.stop:
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case l, ok := <-c.lines:
			if !ok {
				c.settle(ctx)
				return nil, io.EOF
			}
			msg, bad := decodeLine(l)
			if bad == nil {
				bad = c.accept(msg)
			}
			if bad == nil {
				return msg, nil
			}
			c.log.Warn("refused a line of input", slog.String("reason", bad.Message))
			if err := c.writeLine(bad.line()); err != nil {
				return nil, err
			}
		}
	}
}

// accept notes what is owed for a message and what a cancellation takes back.
func (c *stdioConn) accept(msg jsonrpc.Message) *badLine {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.IsCall() {
		if _, busy := c.owed[req.ID]; busy {
			return &badLine{Code: jsonrpc.CodeInvalidRequest, Message: "the id of this request is in use by one that is not answered yet"}
		}
		c.owed[req.ID] = false
		return nil
	}
	if req.Method == "notifications/cancelled" {
		if id, ok := cancelledID(req.Params); ok {
			if _, busy := c.owed[id]; busy {
				c.owed[id] = true
			}
		}
	}
	return nil
}

// settle waits, at the end of input, until every request read is answered or
// nobody is there to read the answers.
func (c *stdioConn) settle(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		c.mu.Lock()
		waiting := c.writing > 0
		for _, cancelled := range c.owed {
			waiting = waiting || !cancelled
		}
		c.mu.Unlock()
		if !waiting || readerGone(c.out) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-c.stop:
			return
		case <-c.closed:
			return
		case <-c.idle:
		case <-tick.C:
		}
	}
}

// Write sends one message, but not the answer to a cancelled request.
func (c *stdioConn) Write(_ context.Context, msg jsonrpc.Message) error {
	if resp, ok := msg.(*jsonrpc.Response); ok {
		cancelled := c.pay(resp.ID)
		defer c.paid()
		if cancelled {
			return nil
		}
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return c.writeLine(data)
}

// pay frees a request's id before its answer is written, because the client may
// use it again as soon as it has read the answer.
func (c *stdioConn) pay(id jsonrpc.ID) (cancelled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancelled = c.owed[id]
	delete(c.owed, id)
	c.writing++
	return cancelled
}

// paid tells who waits for the end of all answers.
func (c *stdioConn) paid() {
	c.mu.Lock()
	c.writing--
	idle := c.writing == 0 && len(c.owed) == 0
	c.mu.Unlock()
	if idle {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

func (c *stdioConn) writeLine(data []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}
