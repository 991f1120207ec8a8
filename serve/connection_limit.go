package serve

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// listener limits the number of open connections. After Close it still accepts the connections that
// the operating system has queued, which would otherwise be reset.
type listener struct {
	net.Listener
	slots      chan struct{} // one for each open connection
	closing    atomic.Bool
	acceptWait time.Duration // total time in Accept after Close
	ended      chan struct{} // closed when Accept returns no more connections
	once       sync.Once
}

// Times that a closed listener waits for the next connection, and for all of them together.
const (
	acceptTimeout = 20 * time.Millisecond
	maxAcceptWait = 5 * acceptTimeout
)

func newListener(l net.Listener, connections int) *listener {
	return &listener{Listener: l, slots: make(chan struct{}, connections), ended: make(chan struct{})}
}

// Accept waits for a free slot and for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.ended:
		return nil, net.ErrClosed
	}
	closing := l.closing.Load()
	if closing {
		l.deadline(maxAcceptWait - l.acceptWait)
	}
	begin := time.Now()
	c, err := l.Listener.Accept()
	if closing {
		l.acceptWait += time.Since(begin)
	}
	if err == nil {
		return &connection{Conn: c, slots: l.slots}, nil
	}
	<-l.slots
	if l.closing.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		l.end()
		err = net.ErrClosed
	}
	return nil, err
}

// Close lets Accept return the queued connections and then net.ErrClosed.
func (l *listener) Close() error {
	l.closing.Store(true)
	l.deadline(acceptTimeout)
	return nil
}

// deadline bounds the wait for a connection. A listener without deadlines is closed immediately.
func (l *listener) deadline(timeout time.Duration) {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	if !ok || d.SetDeadline(time.Now().Add(min(timeout, acceptTimeout))) != nil {
		l.end()
	}
}

// open reports whether the listener still accepts connections or has open ones.
func (l *listener) open() bool {
	select {
	case <-l.ended:
		return len(l.slots) > 0
	default:
		return true
	}
}

// end closes the underlying listener.
func (l *listener) end() {
	l.once.Do(func() {
		close(l.ended)
		l.Listener.Close()
	})
}

// connection releases its slot when it is closed.
type connection struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *connection) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}
