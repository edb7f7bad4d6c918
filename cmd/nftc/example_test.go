package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/nftc/nftc/eval/packet"
)

var update = flag.Bool("update", false, "rewrite our own outputs in testdata")

const example = "../../testdata/example/"

// examplePcap writes the frames of the example's packets as a capture, one each
// millisecond.
func examplePcap(t *testing.T) []byte {
	t.Helper()
	src, err := packet.Open(example+"packets.txt", packet.KindTuples, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint16(le.AppendUint16(b, 2), 4)
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(le.AppendUint32(b, 0), 0), 65535), 1)
	var p packet.Packet
	for n := uint32(0); ; n++ {
		if err := src.Next(&p); err == io.EOF {
			return b
		} else if err != nil {
			t.Fatal(err)
		}
		b = le.AppendUint32(le.AppendUint32(b, 1767225600), n*1000)
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(p.Data))), uint32(p.WireLen))
		b = append(b, p.Data...)
	}
}

// The example of README.md: the capture holds the packets of packets.txt, and
// the verdicts are those written there.
func TestExample(t *testing.T) {
	pcap := examplePcap(t)
	if *update {
		if err := os.WriteFile(example+"traffic.pcap", pcap, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(example + "traffic.pcap")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, pcap) {
		t.Error("traffic.pcap does not hold the packets of packets.txt: run with -update")
	}
	var stdout, stderr bytes.Buffer
	args := []string{"eval", "--tuples", example + "packets.txt", example + "firewall.nft"}
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != exitOK {
		t.Errorf("nftc %s: exit status %d\n%s%s", strings.Join(args, " "), code, stdout.String(), stderr.String())
	}
	byPacket := verdicts(stdout.String())
	stdout.Reset()
	args = []string{"eval", "--pcap", example + "traffic.pcap", "--iif", "eth0", "--host-addr", "192.0.2.10@eth0", "--host-addr", "2001:db8::10@eth0", example + "firewall.nft"}
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != exitOK {
		t.Errorf("nftc %s: exit status %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	if got := verdicts(stdout.String()); got != byPacket {
		t.Errorf("the capture gives other verdicts than the packets:\n%s\nwant\n%s\n%s", got, byPacket, stdout.String())
	}
}

// The explanation in README.md is what the command above it prints.
func TestReadmeExplanation(t *testing.T) {
	t.Chdir(example)
	var stdout, stderr bytes.Buffer
	args := []string{"eval", "--tuples", "packets.txt", "--explain", "stranger", "firewall.nft"}
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != exitOK {
		t.Fatalf("nftc %s: exit status %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "```\nnftc " + strings.Join(args, " ") + "\n```\n\n```\n" + stdout.String() + "```\n"
	if !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not have:\n%s", want)
	}
}

// verdicts takes the verdict words out of the lines of eval.
func verdicts(out string) string {
	var words []string
	for line := range strings.Lines(out) {
		_, after, _ := strings.Cut(line, " => ")
		word, _, _ := strings.Cut(after, ";")
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
