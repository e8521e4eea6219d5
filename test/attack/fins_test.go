// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The queues of a socket in repair, and the end of the repair without a further segment, which package unix does not have.
const (
	receiveQueue = 1
	sendQueue    = 2
	repairEnds   = -1
)

// finBeforeData sends FIN, and then the request that comes before it, as a network does that reorders segments. Within TLS, the request is
// no record.
func finBeforeData(ctx context.Context, c net.Conn, l *listener) error {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	text := l.head(http.MethodGet) + "\r\n"
	if err := sendFIN(c.(*net.TCPConn), len(text)); err != nil {
		return err
	}
	return halfClosed(text)(ctx, c, l)
}

// cannotRepair reports whether an error of sendFIN is for a user who is not root, or for a kernel without TCP_REPAIR
// (CONFIG_CHECKPOINT_RESTORE), such as that of some sandboxes.
func cannotRepair(err error) bool {
	return slices.ContainsFunc([]error{unix.EPERM, unix.ENOPROTOOPT, unix.EINVAL, unix.ENOSYS}, func(of error) bool { return errors.Is(err, of) })
}

// sendFIN sends FIN in the place after the next bytes of a connection, over a raw socket. The bytes of a connection have numbers in TCP,
// which the kernel tells while the socket is in repair.
func sendFIN(c *net.TCPConn, after int) error {
	var sent, received int
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failures [6]error
	err = raw.Control(func(descriptor uintptr) {
		fd := int(descriptor)
		failures[0] = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1)
		failures[1] = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_QUEUE, sendQueue)
		sent, failures[2] = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUEUE_SEQ)
		failures[3] = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_QUEUE, receiveQueue)
		received, failures[4] = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUEUE_SEQ)
		failures[5] = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, repairEnds)
	})
	if err = errors.Join(append(failures[:], err)...); err != nil {
		return fmt.Errorf("read the numbers of the connection: %w", err)
	}
	from := c.LocalAddr().(*net.TCPAddr)
	to := c.RemoteAddr().(*net.TCPAddr)
	segment := make([]byte, 20)
	binary.BigEndian.PutUint16(segment[0:], uint16(from.Port))
	binary.BigEndian.PutUint16(segment[2:], uint16(to.Port))
	binary.BigEndian.PutUint32(segment[4:], uint32(sent+after))
	binary.BigEndian.PutUint32(segment[8:], uint32(received))
	copy(segment[12:], []byte{5 << 4, 0x11, 0xff, 0xff}) // the length of the header, FIN and ACK, and the window
	binary.BigEndian.PutUint16(segment[16:], checksum(from, to, segment))
	network := "ip4:tcp"
	if to.IP.To4() == nil {
		network = "ip6:tcp"
	}
	packets, err := net.DialIP(network, &net.IPAddr{IP: from.IP}, &net.IPAddr{IP: to.IP})
	if err != nil {
		return err
	}
	defer func() { _ = packets.Close() }()
	_, err = packets.Write(segment)
	return err
}

// checksum returns the checksum of a TCP segment whose own is 0.
func checksum(from, to *net.TCPAddr, segment []byte) uint16 {
	addresses := append(append([]byte{}, from.IP.To16()...), to.IP.To16()...)
	if from.IP.To4() != nil {
		addresses = append(append([]byte{}, from.IP.To4()...), to.IP.To4()...)
	}
	sum := uint32(unix.IPPROTO_TCP + len(segment))
	for _, part := range [][]byte{addresses, segment} {
		for i := 0; i < len(part); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(part[i:]))
		}
	}
	sum = sum>>16 + sum&0xffff
	return ^uint16(sum + sum>>16)
}

// TestFINBeforeData checks the attacker: the kernel of the server gets FIN first, and the server reads the bytes before it.
func TestFINBeforeData(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		served, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = served.Close() }()
		if err := finBeforeData(t.Context(), c, &listener{Names: "a"}); cannotRepair(err) {
			t.Skipf("SKIPPED: the attacker may not send raw packets, or its kernel repairs no sockets: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(served)
		if err != nil || string(text) != "GET / HTTP/1.1\r\nHost: a\r\n\r\n" {
			t.Errorf("%s: the server reads %q, %v", address, text, err)
		}
		if n := outOfOrder(t, served.(*net.TCPConn)); n != 1 {
			t.Errorf("%s: %d segments have come out of order, want 1", address, n)
		}
	}
}

// outOfOrder returns the number of segments of a connection that came before bytes that precede them.
func outOfOrder(t *testing.T, c *net.TCPConn) uint32 {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	var failure error
	err = raw.Control(func(fd uintptr) { info, failure = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err = errors.Join(err, failure); err != nil {
		t.Fatal(err)
	}
	return info.Rcv_ooopack
}
