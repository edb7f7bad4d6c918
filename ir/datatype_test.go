package ir

import (
	"encoding/hex"
	"testing"
)

func TestParseConst(t *testing.T) {
	for _, c := range []struct {
		typ  *Datatype
		text string
		want string // hexadecimal, or the error
	}{
		{TypeIPv4Addr, "10.0.0.1", "0a000001"},
		{TypeIPv4Addr, "10.1", "0a000001"},
		{TypeIPv4Addr, "foo.bar", "Could not resolve hostname: Name or service not known"},
		{TypeIPv6Addr, "::1", "00000000000000000000000000000001"},
		{TypeIPv6Addr, "1.2.3.4", "Could not resolve hostname: Address family for hostname not supported"},
		{TypeInetService, "ssh", "0016"},
		{TypeInetService, "65536", "Service out of range"},
		{TypeInetService, "nosuch", "Could not resolve service: Servname not supported for ai_socktype"},
		{TypeInetProto, "tcp", "06"},
		{TypeInetProto, "300", "Protocol out of range"},
		{TypeEtherAddr, "1:2:3:4:5:6", "010203040506"},
		{TypeEtherAddr, "100:2:3:4:5:6", "Invalid LL address"},
		{TypeEtherType, "ip6", "86dd"},
		{TypeCTState, "established", "00000002"},
		{TypeCTState, "establishd", "Could not parse conntrack state expression; did you you mean `established`?"},
		{TypeCTState, "foo", "Could not parse conntrack state"},
		{TypeMark, "0x10", "00000010"},
		{TypeMark, "0x100000000", "Value 4294967296 exceeds valid range 0-4294967295"},
		{TypeMark, "017", "0000000f"},
		{TypeTime, "1m30s", "00015f90"},
		{TypeTime, "1h1h", "Hour has been specified twice"},
		{TypeClassID, "1:10", "00010010"},
		{TypeClassID, "root", "ffffffff"},
		{TypeUID, "root", "00000000"},
		{TypeUID, "nosuch", "User does not exist"},
		{TypeIfIndex, "eth9", "Interface does not exist"},
		{TypeIfName, "eth0", hex.EncodeToString([]byte("eth0"))},
		{TypeIfName, "sixteenletters16", "String exceeds maximum length of 16"},
		{TypeCTLabel, "128", "128: bit 128 out of range (128 max)"},
		{TypeDSCP, "0x40", "Value 64 exceeds valid range 0-63"},
		{TypeDay, "Monday", "01"},
		{TypeHour, "01:00", "00000e10"},
		{TypeDate, "1970-01-01 00:00:01", "000000003b9aca00"},
	} {
		b, err := c.typ.ParseConst(c.text)
		got := hex.EncodeToString(b)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.typ.Name, c.text, got, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		typ     *Datatype
		hex     string
		numeric bool
		want    string
	}{
		{TypeIPv4Addr, "0a000001", false, "10.0.0.1"},
		{TypeIPv6Addr, "00000000000000000000000001020304", false, "::1.2.3.4"},
		{TypeInetProto, "06", false, "tcp"},
		{TypeInetProto, "06", true, "6"},
		{TypeMark, "10", false, "0x00000010"},
		{TypeEtherAddr, "010203040506", false, "01:02:03:04:05:06"},
		{TypeEtherType, "1234", false, "0x1234"},
		{TypeTime, "00015f90", false, "1m30s"},
		{TypeClassID, "00010010", false, "1:10"},
		{TypeDSCP, "08", false, "cs1"},
		{TypeDSCP, "09", false, "0x09"},
		{TypeDay, "01", false, `"Monday"`},
		{TypeIfName, "65746830", false, `"eth0"`},
		{TypeHour, "00000e10", false, `"01:00"`},
		{TypeCTState, "00000006", false, "0x6"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.typ.Format(b, c.numeric); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.typ.Name, c.hex, got, c.want)
		}
	}
}

// Every named constant must parse to its value, and every type have its row.
func TestDatatypeTable(t *testing.T) {
	for id := IDVerdict; id < idCount; id++ {
		d := DatatypeByID(id)
		if d == nil || d.ID != id || d.Name == "" || d.Desc == "" {
			t.Fatalf("datatype %d has no row", id)
		}
		if d.Symbols == nil || d.form == formBoolean {
			continue
		}
		for _, s := range d.Symbols.List {
			b, err := d.ParseConst(s.Name)
			if err != nil || bytesUint(b) != s.Value {
				t.Errorf("%s %s: %x, %v", d.Name, s.Name, b, err)
			}
		}
	}
}

func FuzzParseConst(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "::1", "0x10", "1h", "1:2", "ssh", "2024-01-01", "\\*", "0b1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range datatypes {
			b, err := d.ParseConst(s)
			if err == nil {
				d.Format(b, false)
				if d.Bits > 0 && !d.IsString() && len(b) != d.Bytes() {
					t.Errorf("%s %q: %d bytes", d.Name, s, len(b))
				}
			}
		}
	})
}
