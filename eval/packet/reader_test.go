package packet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Writers of small captures, for tests.

type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func pcapFile(o order, magic uint32, minor uint16, network uint32, records ...[]byte) []byte {
	b := o.AppendUint32(nil, magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, minor)
	b = o.AppendUint64(b, 0)
	b = o.AppendUint32(b, 65535)
	b = o.AppendUint32(b, network)
	return append(b, bytes.Join(records, nil)...)
}

func pcapRecord(o order, sec, sub, capLen, wireLen uint32, data []byte) []byte {
	b := o.AppendUint32(nil, sec)
	b = o.AppendUint32(b, sub)
	b = o.AppendUint32(b, capLen)
	b = o.AppendUint32(b, wireLen)
	return append(b, data...)
}

func ngBlock(o order, typ uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	b := o.AppendUint32(nil, typ)
	b = o.AppendUint32(b, uint32(len(body)+12))
	b = append(b, body...)
	return o.AppendUint32(b, uint32(len(body)+12))
}

func ngSection(o order) []byte {
	b := o.AppendUint32(nil, byteOrderMagic)
	b = o.AppendUint16(b, 1)
	b = o.AppendUint16(b, 0)
	return ngBlock(o, blockSection, o.AppendUint64(b, 0xffffffffffffffff))
}

func ngOption(o order, code uint16, v []byte) []byte {
	b := o.AppendUint16(nil, code)
	b = o.AppendUint16(b, uint16(len(v)))
	b = append(b, v...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func ngIface(o order, lt LinkType, snap uint32, options ...[]byte) []byte {
	b := o.AppendUint16(nil, uint16(lt))
	b = o.AppendUint16(b, 0)
	b = o.AppendUint32(b, snap)
	return ngBlock(o, blockInterface, append(b, bytes.Join(options, nil)...))
}

func ngEnhanced(o order, id uint32, stamp uint64, wireLen uint32, data []byte, options ...[]byte) []byte {
	b := o.AppendUint32(nil, id)
	b = o.AppendUint32(b, uint32(stamp>>32))
	b = o.AppendUint32(b, uint32(stamp))
	b = o.AppendUint32(b, uint32(len(data)))
	b = o.AppendUint32(b, wireLen)
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return ngBlock(o, blockEnhanced, append(b, bytes.Join(options, nil)...))
}

// describe reads a capture: one line a packet, then the error.
func describe(t testing.TB, file []byte) string {
	t.Helper()
	s, err := NewSource("f", bytes.NewReader(file), KindCapture)
	if err != nil {
		return err.Error()
	}
	var p Packet
	var b strings.Builder
	for {
		if err := s.Next(&p); err != nil {
			if err != io.EOF {
				b.WriteString(err.Error() + "\n")
			}
			break
		}
		fmt.Fprintf(&b, "%d %v %d/%d %d", p.Index, p.LinkType, len(p.Data), p.WireLen, p.Stated.TimeNs)
		if st := &p.Stated; st.Has&HasIifName != 0 || st.Has&HasOifName != 0 || st.Direction != DirUnknown || st.Has&HasIif != 0 {
			fmt.Fprintf(&b, " in=%s out=%s dir=%v iif=%d", st.IifName, st.OifName, st.Direction, st.Iif)
		}
		b.WriteByte('\n')
	}
	for _, w := range s.Warnings() {
		b.WriteString("warning: " + w + "\n")
	}
	return b.String()
}

func TestPcap(t *testing.T) {
	le, be := order(binary.LittleEndian), order(binary.BigEndian)
	data := []byte{0x45, 1, 2, 3, 4, 5, 6, 7}
	modified := func(o order) []byte {
		b := pcapRecord(o, 1, 2, 8, 8, nil)
		b = o.AppendUint32(b, 7)
		b = append(b, 0, 8, byte(PktOutgoing), 0)
		return append(b, data...)
	}
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"microseconds", pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 8, 100, data)), "1 RAW 8/100 1000002000\n"},
		{"big-endian", pcapFile(be, magicMicro, 4, 101, pcapRecord(be, 1, 2, 8, 8, data)), "1 RAW 8/8 1000002000\n"},
		{"nanoseconds", pcapFile(be, magicNano, 4, 101, pcapRecord(be, 1, 2, 8, 8, data)), "1 RAW 8/8 1000000002\n"},
		{"modified", pcapFile(le, magicModified, 4, 1, modified(le)), "1 EN10MB 8/8 1000002000 in= out= dir=out iif=7\n"},
		{"swapped lengths", pcapFile(le, magicMicro, 2, 1, pcapRecord(le, 1, 2, 100, 8, data)), "1 EN10MB 8/100 1000002000\n"},
		{"swapped lengths of 2.3", pcapFile(le, magicMicro, 3, 1, pcapRecord(le, 1, 2, 100, 8, data)), "1 EN10MB 8/100 1000002000\n"},
		{"frame check sequence", pcapFile(le, magicMicro, 4, 1|0x04000000|2<<28, pcapRecord(le, 1, 2, 8, 8, data)), "1 EN10MB 4/4 1000002000\n"},
		{"captured more than the wire had", pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 8, 4, data)), "1 RAW 8/8 1000002000\n"},
		{"empty packet", pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 0, 0, nil), pcapRecord(le, 1, 2, 8, 8, data)), "1 RAW 0/0 1000002000\n2 RAW 8/8 1000002000\n"},
		{"no packets", pcapFile(le, magicMicro, 4, 101), ""},
		{"unknown version", pcapFile(le, magicMicro, 4, 101)[:4:4], "f: offset 0: truncated pcap file header: found 4 of 24 bytes"},
		{"record header cut", pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 8, 8, data), []byte{1, 2}), "1 RAW 8/8 1000002000\nf: offset 48: truncated packet record header: found 2 of 16 bytes (1 packets read before)\n"},
		{"data cut", pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 8, 8, data[:3])), "f: offset 24: truncated data of packet 1: found 3 of 8 bytes\n"},
		{"absurd length", pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 0x7fffffff, 8, data)), "f: offset 24: captured length 2147483647 of packet 1 is beyond the limit of 262144: corrupt record\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := describe(t, tt.file); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestPcapng(t *testing.T) {
	le, be := order(binary.LittleEndian), order(binary.BigEndian)
	data := []byte{0x45, 1, 2, 3, 4, 5, 6}
	name := func(o order, s string) []byte { return ngOption(o, 2, []byte(s)) }
	res := func(o order, r byte) []byte { return ngOption(o, 9, []byte{r}) }
	flags := func(o order, f uint32) []byte { return ngOption(o, 2, o.AppendUint32(nil, f)) }
	simple := func(o order, wire uint32, d []byte) []byte {
		return ngBlock(o, blockSimple, append(o.AppendUint32(nil, wire), d...))
	}
	obsolete := func(o order, id uint16, d []byte, options ...[]byte) []byte {
		b := o.AppendUint16(nil, id)
		b = o.AppendUint16(b, 0)
		b = o.AppendUint64(b, 0)
		b = o.AppendUint32(b, uint32(len(d)))
		b = o.AppendUint32(b, uint32(len(d)))
		b = append(b, d...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		return ngBlock(o, blockPacket, append(b, bytes.Join(options, nil)...))
	}
	join := func(b ...[]byte) []byte { return bytes.Join(b, nil) }
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"interfaces of different kind", join(ngSection(le), ngIface(le, LinkRaw, 0, name(le, "wan0")), ngIface(le, LinkEthernet, 128, res(le, 9)),
			ngEnhanced(le, 1, 5, 7, data), ngEnhanced(le, 0, 5, 70, data, flags(le, 1)), ngEnhanced(le, 0, 5, 7, data, flags(le, 2))),
			"1 EN10MB 7/7 5\n2 RAW 7/70 5000 in=wan0 out= dir=in iif=0\n3 RAW 7/7 5000 in= out=wan0 dir=out iif=0\n"},
		{"sections of either order", join(ngSection(be), ngIface(be, LinkRaw, 0, name(be, "a")), ngEnhanced(be, 0, 1, 7, data),
			ngSection(le), ngIface(le, LinkEthernet, 0), ngEnhanced(le, 0, 1, 7, data)),
			"1 RAW 7/7 1000 in=a out= dir=unknown iif=0\n2 EN10MB 7/7 1000\n"},
		{"blocks of other types", join(ngSection(le), ngBlock(le, 4, []byte("names")), ngIface(le, LinkRaw, 0), ngBlock(le, 0xbad, make([]byte, 500000)),
			simple(le, 7, data), ngBlock(le, 5, make([]byte, 16)), obsolete(le, 0, data, flags(le, 1))),
			"1 RAW 7/7 0\n2 RAW 7/7 0 in= out= dir=in iif=0\n"},
		{"simple packet cut by the snap length", join(ngSection(le), ngIface(le, LinkRaw, 4), simple(le, 70, data[:4])), "1 RAW 4/70 0\n"},
		{"units of time", join(ngSection(le), ngIface(le, LinkRaw, 0, res(le, 0x80|1)), ngIface(le, LinkRaw, 0, res(le, 0)), ngIface(le, LinkRaw, 0, res(le, 12)),
			ngIface(le, LinkRaw, 0, res(le, 6), ngOption(le, 14, le.AppendUint64(nil, 10))), ngIface(le, LinkRaw, 0, res(le, 0xff)), ngIface(le, LinkRaw, 0, res(le, 0x7f)),
			ngEnhanced(le, 0, 3, 7, data), ngEnhanced(le, 1, 3, 7, data), ngEnhanced(le, 2, 3000000001000, 7, data), ngEnhanced(le, 3, 3, 7, data),
			ngEnhanced(le, 4, 3, 7, data), ngEnhanced(le, 5, 3, 7, data), ngEnhanced(le, 1, 1<<63, 7, data)),
			"1 RAW 7/7 1500000000\n2 RAW 7/7 3000000000\n3 RAW 7/7 3000000001\n4 RAW 7/7 10000003000\n5 RAW 7/7 0\n6 RAW 7/7 0\n7 RAW 7/7 9223372035000000000\n"},
		{"no interface", join(ngSection(le), ngEnhanced(le, 0, 1, 7, data)), "f: offset 28: packet names interface 0, but the section has described 0 interfaces\n"},
		{"block length 0", join(ngSection(le), make([]byte, 12)), "f: offset 28: block of type 0x0 claims a length of 0 bytes, at least 12 expected: corrupt\n"},
		{"huge packet block", join(ngSection(le), ngIface(le, LinkRaw, 0), le.AppendUint32(le.AppendUint32(nil, blockEnhanced), 0xfffffff0), data),
			"f: offset 48: block of type 0x6 claims a length of 4294967280 bytes, at most 17825792 expected: corrupt\n"},
		{"huge other block", join(ngSection(le), le.AppendUint32(le.AppendUint32(nil, 0xbad), 0xfffffff0), data),
			"f: offset 28: truncated block of type 0xbad: found 15 of 4294967280 bytes\n"},
		{"captured length beyond the block", join(ngSection(le), ngIface(le, LinkRaw, 0), ngBlock(le, blockEnhanced, append(make([]byte, 12), le.AppendUint32(le.AppendUint32(nil, 99), 99)...))),
			"f: offset 48: captured length 99 of packet 1 is beyond its block, which has room for 0: corrupt\n"},
		{"cut inside a packet", join(ngSection(le), ngIface(le, LinkRaw, 0), ngEnhanced(le, 0, 1, 7, data), ngEnhanced(le, 0, 1, 7, data)[:20]),
			"1 RAW 7/7 1000\nf: offset 88: truncated enhanced packet block: found 20 of 40 bytes (1 packets read before)\n"},
		{"wrong byte-order magic", append(ngSection(le)[:8:8], make([]byte, 20)...), "f: offset 0: section header has byte-order magic 0x00000000, expected 0x1a2b3c4d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := describe(t, tt.file); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func TestGzip(t *testing.T) {
	le := order(binary.LittleEndian)
	var records []byte
	for i := range 2000 {
		records = append(records, pcapRecord(le, uint32(i), 0, 4, 4, le.AppendUint32(nil, uint32(i)*2654435761))...)
	}
	whole := zipped(pcapFile(le, magicMicro, 4, 101, records))
	if got := describe(t, whole); strings.Count(got, "\n") != 2000 {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
	got := describe(t, whole[:len(whole)/2])
	if !strings.Contains(got, " of the uncompressed data: truncated ") || strings.Count(got, "\n") < 500 {
		t.Errorf("%d lines, ending in %s", strings.Count(got, "\n"), got[max(0, len(got)-200):])
	}
	bad := bytes.Clone(whole)
	bad[len(bad)/2] ^= 0xff
	if got := describe(t, bad); !strings.Contains(got, "f: offset ") {
		t.Errorf("corrupt gzip: ends in %s", got[max(0, len(got)-200):])
	}
	text, err := readAll(t, "f.txt.gz", string(zipped([]byte("udp 1.2.3.4:1 > 5.6.7.8:2\n"))))
	if err != nil || len(text) != 1 {
		t.Errorf("gzipped text: %v, %v", text, err)
	}
}

// TestTruncatedEverywhere cuts captures at each byte: the whole packets before
// the cut come out, then one typed error, or none at a record's end.
func TestTruncatedEverywhere(t *testing.T) {
	le := order(binary.LittleEndian)
	data := []byte{0x45, 1, 2, 3}
	files := [][]byte{
		pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 4, 4, data), pcapRecord(le, 1, 2, 4, 4, data)),
		bytes.Join([][]byte{ngSection(le), ngIface(le, LinkRaw, 0), ngEnhanced(le, 0, 1, 4, data), ngEnhanced(le, 0, 1, 4, data)}, nil),
	}
	for i, file := range files {
		for n := range file {
			s, err := NewSource("f", bytes.NewReader(file[:n]), KindCapture)
			packets := 0
			for err == nil {
				var p Packet
				if err = s.Next(&p); err == nil {
					packets++
				}
			}
			var re *ReadError
			if err != io.EOF && !errors.As(err, &re) {
				t.Errorf("file %d cut at %d: %v", i, n, err)
			}
			if again := s; again != nil {
				var p Packet
				if err2 := s.Next(&p); err2 != err {
					t.Errorf("file %d cut at %d: %v, then %v", i, n, err, err2)
				}
			}
			if packets > 1 || err == io.EOF && packets == 0 && n > 100 {
				t.Errorf("file %d cut at %d: %d packets", i, n, packets)
			}
		}
	}
}

// slowReader gives one byte a time.
type slowReader struct{ b []byte }

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	p[0] = r.b[0]
	r.b = r.b[1:]
	return 1, nil
}

func TestSlowPipe(t *testing.T) {
	le := order(binary.LittleEndian)
	file := pcapFile(le, magicMicro, 4, 101, pcapRecord(le, 1, 2, 4, 4, []byte{0x45, 1, 2, 3}))
	s, err := NewSource("-", &slowReader{file}, KindAny)
	if err != nil {
		t.Fatal(err)
	}
	var p Packet
	if err := s.Next(&p); err != nil || len(p.Data) != 4 {
		t.Errorf("%v, %x", err, p.Data)
	}
	if err := s.Next(&p); err != io.EOF {
		t.Error(err)
	}
}

// benchFile makes a capture of n packets in a temporary file.
func benchFile(b *testing.B, n int) string {
	le := order(binary.LittleEndian)
	frame := unhex(b, hexEther+"0800"+hexIP4+hexTCP)
	var records []byte
	for i := range n {
		records = append(records, pcapRecord(le, uint32(i), 0, uint32(len(frame)), uint32(len(frame)), frame)...)
	}
	name := filepath.Join(b.TempDir(), "bench.pcap")
	if err := os.WriteFile(name, pcapFile(le, magicMicro, 4, 1, records), 0o600); err != nil {
		b.Fatal(err)
	}
	return name
}

// BenchmarkReadPcap is the whole way from file to decoded packet.
func BenchmarkReadPcap(b *testing.B) {
	const packets = 100_000
	name := benchFile(b, packets)
	b.ReportAllocs()
	var p Packet
	for b.Loop() {
		s, err := Open(name, KindCapture, nil)
		if err != nil {
			b.Fatal(err)
		}
		for {
			if err := s.Next(&p); err != nil {
				break
			}
		}
		s.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/packets, "ns/packet")
}

func BenchmarkParseTuple(b *testing.B) {
	b.ReportAllocs()
	var p Packet
	for b.Loop() {
		if err := ParseTuple("p1: tcp 198.51.100.9:9 > 198.51.100.1:22 flags=syn in=lan0 hook=input => accept", &p); err != nil {
			b.Fatal(err)
		}
	}
}
