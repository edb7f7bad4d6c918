package set

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nftc/nftc/compile/bytecode"
)

// What the live kernel answers to random series of element messages is recorded in
// testdata; -record asks it again, in a network namespace of its own (as root).
var record = flag.Bool("record", false, "ask the running kernel again")

const answersFile = "testdata/kernel-6.18/answers.txt"

// The Loader answers as the kernel did.
func TestLoaderAnswersAsTheKernel(t *testing.T) {
	if *record {
		recordAnswers(t)
	}
	data, err := os.ReadFile(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	wrong, total := 0, 0
	for line := range strings.Lines(string(data)) {
		var seed uint64
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "seed ")
		if !ok {
			continue
		}
		head, list, _ := strings.Cut(text, ":")
		if _, err := fmt.Sscan(head, &seed); err != nil {
			t.Fatal(err)
		}
		s := randomScenario(seed)
		got := strings.Trim(fmt.Sprint(s.answers()), "[]")
		total++
		if want := strings.TrimSpace(list); got != want {
			if wrong++; wrong <= 3 {
				t.Errorf("seed %d:\n%v got  %s\n want %s", seed, &s, got, want)
			}
		}
	}
	if total == 0 {
		t.Fatal("no recorded answers")
	}
	if wrong > 0 {
		t.Errorf("%d of %d series differ from the kernel's answers", wrong, total)
	}
}

func recordAnswers(t *testing.T) {
	runtime.LockOSThread() // the thread is not given back: it is in another namespace
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace of our own: %v", err)
	}
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_NETFILTER)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		t.Fatal(err)
	}
	var uts syscall.Utsname
	if err := syscall.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	release := ""
	for _, c := range uts.Release {
		if c == 0 {
			break
		}
		release += string(rune(c))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Answers of Linux %s to the series of element messages of each seed.\n", release)
	for seed := range uint64(1500) {
		s := randomScenario(seed)
		answers := askKernel(t, fd, &s)
		fmt.Fprintf(&b, "seed %d: %s\n", seed, strings.Trim(fmt.Sprint(answers), "[]"))
	}
	if err := os.MkdirAll("testdata/kernel-6.18", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(answersFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Numbers of nfnetlink and nf_tables.
const (
	nfnlBatchBegin = 0x10
	nfnlBatchEnd   = 0x11
	subsysNFTables = 10 << 8
	msgNewTable    = 0
	msgNewSet      = 9
	msgNewElem     = 12
	msgDelElem     = 14
	nlmExcl        = 0x200
	nlmCreate      = 0x400
	nlaNested      = 0x8000
)

func nla(kind uint16, payload ...[]byte) []byte {
	p := slices.Concat(payload...)
	b := make([]byte, 4, 4+len(p)+3)
	binary.NativeEndian.PutUint16(b, uint16(4+len(p)))
	binary.NativeEndian.PutUint16(b[2:], kind)
	b = append(b, p...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func nla32(kind uint16, v uint32) []byte { return nla(kind, binary.BigEndian.AppendUint32(nil, v)) }

func nfMessage(kind, flags uint16, seq uint32, family byte, res uint16, attrs ...[]byte) []byte {
	p := slices.Concat(attrs...)
	b := make([]byte, 20, 20+len(p))
	binary.NativeEndian.PutUint32(b, uint32(20+len(p)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint16(b[6:], flags)
	binary.NativeEndian.PutUint32(b[8:], seq)
	b[16] = family
	binary.BigEndian.PutUint16(b[18:], res)
	return append(b, p...)
}

// askKernel sends the series as one batch and collects the answer to each message.
// A last message that must fail makes the kernel drop everything.
func askKernel(t *testing.T, fd int, s *scenario) []int {
	const request, ack = 1, 4
	const ip = 2
	table, name := nla(1, []byte("t\x00")), nla(2, []byte("s\x00"))
	if s.set.Flags&bytecode.SetAnonymous != 0 {
		name = nla(2, []byte("__set%d\x00"))
	}
	desc := [][]byte{}
	if s.set.Size != 0 {
		desc = append(desc, nla32(1, s.set.Size))
	}
	if len(s.set.Key) > 1 {
		var fs [][]byte
		for _, f := range s.set.Key {
			fs = append(fs, nla(1|nlaNested, nla32(1, uint32(f.Len))))
		}
		desc = append(desc, nla(2|nlaNested, fs...))
	}
	setAttrs := [][]byte{table, name, nla32(3, uint32(s.set.Flags)), nla32(4, 1), nla32(5, uint32(s.set.KeyLen())), nla32(10, 1)}
	if len(desc) > 0 {
		setAttrs = append(setAttrs, nla(9|nlaNested, desc...))
	}
	if s.set.Policy != 0 {
		setAttrs = append(setAttrs, nla32(8, uint32(s.set.Policy)))
	}
	if s.set.Flags&bytecode.SetMap != 0 {
		setAttrs = append(setAttrs, nla32(6, 1), nla32(7, uint32(s.set.DataLen())))
	}
	batch := [][]byte{
		nfMessage(nfnlBatchBegin, request, 0, 0, 10),
		nfMessage(subsysNFTables|msgNewTable, request|nlmCreate|ack, 1, ip, 0, table),
		nfMessage(subsysNFTables|msgNewSet, request|nlmCreate|ack, 2, ip, 0, setAttrs...),
	}
	for i := range s.messages {
		m := &s.messages[i]
		var e [][]byte
		if m.elem.Flags != 0 {
			e = append(e, nla32(3, uint32(m.elem.Flags)))
		}
		if m.elem.Key != nil {
			e = append(e, nla(1|nlaNested, nla(1, m.elem.Key)))
		}
		if m.elem.KeyEnd != nil {
			e = append(e, nla(10|nlaNested, nla(1, m.elem.KeyEnd)))
		}
		if m.elem.Data != nil {
			e = append(e, nla(2|nlaNested, nla(1, m.elem.Data.Value)))
		}
		kind, flags := uint16(msgNewElem), uint16(request|ack|nlmCreate)
		if m.del {
			kind, flags = msgDelElem, request|ack
		} else if m.create {
			flags |= nlmExcl
		}
		batch = append(batch, nfMessage(subsysNFTables|kind, flags, uint32(3+i), ip, 0, table, name, nla32(4, 1),
			nla(3|nlaNested, nla(1|nlaNested, e...))))
	}
	last := uint32(3 + len(s.messages))
	batch = append(batch,
		nfMessage(subsysNFTables|msgDelElem, request|ack, last, ip, 0, nla(1, []byte("absent\x00"))),
		nfMessage(nfnlBatchEnd, request, last+1, 0, 10))
	if err := syscall.Sendto(fd, slices.Concat(batch...), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		t.Fatal(err)
	}
	out := make([]int, len(s.messages))
	buf := make([]byte, 1<<16)
	for {
		n, _, err := syscall.Recvfrom(fd, buf, 0)
		if err != nil {
			t.Fatal(err)
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if m.Header.Type != syscall.NLMSG_ERROR {
				continue
			}
			errno := -int(int32(binary.NativeEndian.Uint32(m.Data)))
			switch seq := m.Header.Seq; {
			case seq < 3 && errno != 0:
				t.Fatalf("the set is refused: errno %d\n%v", errno, s)
			case seq >= 3 && seq < last:
				out[seq-3] = errno
			case seq == last:
				return out
			}
		}
	}
}
