package packet

import "strconv"

// LinkType is a LINKTYPE_ value of capture files: what the bytes of a packet
// start with.
type LinkType uint16

const (
	LinkNull         LinkType = 0
	LinkEthernet     LinkType = 1
	LinkIEEE8025     LinkType = 6
	LinkARCNETBSD    LinkType = 7
	LinkSLIP         LinkType = 8
	LinkPPP          LinkType = 9
	LinkFDDI         LinkType = 10
	LinkRawBSD       LinkType = 12 // DLT_RAW, where a file carries the DLT
	LinkRawOpenBSD   LinkType = 14
	LinkPPPSerial    LinkType = 50
	LinkPPPEther     LinkType = 51
	LinkATMRFC1483   LinkType = 100
	LinkRaw          LinkType = 101
	LinkCHDLC        LinkType = 104
	LinkIEEE80211    LinkType = 105
	LinkFrameRelay   LinkType = 107
	LinkLoop         LinkType = 108
	LinkLinuxSLL     LinkType = 113
	LinkPFLog        LinkType = 117
	LinkPrism        LinkType = 119
	LinkSunATM       LinkType = 123
	LinkRadiotap     LinkType = 127
	LinkARCNETLinux  LinkType = 129
	LinkMTP2         LinkType = 140
	LinkAVS          LinkType = 163
	LinkPPPPPPD      LinkType = 166 // PPP with direction
	LinkMFR          LinkType = 182
	LinkJuniperEther LinkType = 178
	LinkPPI          LinkType = 192
	LinkIEEE802154   LinkType = 195
	LinkPPPWithDir   LinkType = 204
	LinkCHDLCWithDir LinkType = 205
	LinkFRWithDir    LinkType = 206
	LinkIPv4         LinkType = 228
	LinkIPv6         LinkType = 229
	LinkNFLOG        LinkType = 239
	LinkPKTAP        LinkType = 258
	LinkSLL2         LinkType = 276
	LinkBRCMTag      LinkType = 281
	LinkBRCMPrepend  LinkType = 282
	LinkDSA          LinkType = 284
	LinkEDSA         LinkType = 285
)

// Device types (ARPHRD_*) that link types stand for.
const (
	DevEther      = 1
	DevIEEE802    = 6
	DevARCNET     = 7
	DevDLCI       = 15
	DevATM        = 19
	DevSLIP       = 256
	DevPPP        = 512
	DevCisco      = 513
	DevFrameRelay = 770
	DevLoopback   = 772
	DevFDDI       = 774
	DevIEEE80211  = 801
	DevIEEE802154 = 804
	DevNone       = 65534
	DevVoid       = 65535
)

// framing is how the bytes of a link type lead to a network header.
type framing uint8

const (
	frameNone framing = iota // no way to a network header is known
	frameEther
	frameRaw // IPv4 or IPv6, by the version
	frameNull
	frameSLIP
	framePPP
	framePPPDir
	frameCHDLC
	frameCHDLCDir
	frameFR
	frameFRDir
	frameMFR
	frameSLL
	frameSLL2
	frame8025
	frameFDDI
	frame80211
	frameRadiotap
	framePrism
	frameAVS
	framePPI
	frameLLC
	frameSunATM
	frameARCNETLinux
	frameNFLOG
	framePKTAP
	frameBRCM
	frameBRCMPrepend
	frameDSA
	frameEDSA
	frameJuniperEther
	framePFLog
)

// linkRow describes one link type: one row, one type.
type linkRow struct {
	name    string
	framing framing
	dev     uint16
}

var linkTable = [300]linkRow{
	LinkNull:         {"NULL", frameNull, DevLoopback},
	LinkEthernet:     {"EN10MB", frameEther, DevEther},
	LinkIEEE8025:     {"IEEE802_5", frame8025, DevIEEE802},
	LinkARCNETBSD:    {"ARCNET", frameNone, DevARCNET},
	LinkSLIP:         {"SLIP", frameSLIP, DevSLIP},
	LinkPPP:          {"PPP", framePPP, DevPPP},
	LinkFDDI:         {"FDDI", frameFDDI, DevFDDI},
	LinkRawBSD:       {"RAW", frameRaw, DevNone},
	LinkRawOpenBSD:   {"RAW", frameRaw, DevNone},
	LinkPPPSerial:    {"PPP_SERIAL", framePPP, DevPPP},
	LinkPPPEther:     {"PPP_ETHER", frameNone, DevPPP},
	LinkATMRFC1483:   {"ATM_RFC1483", frameLLC, DevATM},
	LinkRaw:          {"RAW", frameRaw, DevNone},
	LinkCHDLC:        {"C_HDLC", frameCHDLC, DevCisco},
	LinkIEEE80211:    {"IEEE802_11", frame80211, DevIEEE80211},
	LinkFrameRelay:   {"FRELAY", frameFR, DevDLCI},
	LinkLoop:         {"LOOP", frameNull, DevLoopback},
	LinkLinuxSLL:     {"LINUX_SLL", frameSLL, DevVoid},
	LinkPFLog:        {"PFLOG", framePFLog, DevNone},
	LinkPrism:        {"IEEE802_11_PRISM", framePrism, DevIEEE80211},
	LinkSunATM:       {"SUNATM", frameSunATM, DevATM},
	LinkRadiotap:     {"IEEE802_11_RADIOTAP", frameRadiotap, DevIEEE80211},
	LinkARCNETLinux:  {"ARCNET_LINUX", frameARCNETLinux, DevARCNET},
	132:              {"JUNIPER_ES", frameNone, DevVoid},
	137:              {"JUNIPER_ATM1", frameNone, DevVoid},
	LinkMTP2:         {"MTP2", frameNone, DevVoid},
	149:              {"USER2", frameNone, DevVoid},
	LinkAVS:          {"IEEE802_11_AVS", frameAVS, DevIEEE80211},
	164:              {"JUNIPER_MONITOR", frameNone, DevVoid},
	LinkPPPPPPD:      {"PPP_PPPD", framePPP, DevPPP},
	LinkJuniperEther: {"JUNIPER_ETHER", frameJuniperEther, DevEther},
	LinkMFR:          {"MFR", frameMFR, DevFrameRelay},
	LinkPPI:          {"PPI", framePPI, DevIEEE80211},
	LinkIEEE802154:   {"IEEE802_15_4", frameNone, DevIEEE802154},
	LinkPPPWithDir:   {"PPP_WITH_DIR", framePPPDir, DevPPP},
	LinkCHDLCWithDir: {"C_HDLC_WITH_DIR", frameCHDLCDir, DevCisco},
	LinkFRWithDir:    {"FRELAY_WITH_DIR", frameFRDir, DevDLCI},
	LinkIPv4:         {"IPV4", frameRaw, DevNone},
	LinkIPv6:         {"IPV6", frameRaw, DevNone},
	230:              {"IEEE802_15_4_NOFCS", frameNone, DevIEEE802154},
	LinkNFLOG:        {"NFLOG", frameNFLOG, DevVoid},
	LinkPKTAP:        {"PKTAP", framePKTAP, DevVoid},
	LinkSLL2:         {"LINUX_SLL2", frameSLL2, DevVoid},
	LinkBRCMTag:      {"DSA_TAG_BRCM", frameBRCM, DevEther},
	LinkBRCMPrepend:  {"DSA_TAG_BRCM_PREPEND", frameBRCMPrepend, DevEther},
	LinkDSA:          {"DSA_TAG_DSA", frameDSA, DevEther},
	LinkEDSA:         {"DSA_TAG_EDSA", frameEDSA, DevEther},
}

// String gives the name after LINKTYPE_, or the number.
func (t LinkType) String() string {
	if int(t) < len(linkTable) && linkTable[t].name != "" {
		return linkTable[t].name
	}
	return "LINKTYPE " + strconv.Itoa(int(t))
}

// Known reports whether decoding knows the way from this link type to a
// network header.
func (t LinkType) Known() bool { return t.row().framing != frameNone }

func (t LinkType) row() linkRow {
	if int(t) < len(linkTable) {
		return linkTable[t]
	}
	return linkRow{}
}

// LinkNote says what was met on the way to the network header, or why there
// is none.
type LinkNote uint8

const (
	NoteNone          LinkNote = iota // plainly decoded
	NoteUnknownLink                   // no way to a network header known for the link type
	NoteShort                         // link layer header cut short on the wire
	NoteTruncated                     // link layer header cut short by the capture
	NoteControl                       // control or management frame, no packet inside
	NoteEncrypted                     // payload encrypted
	NoteFragmented                    // one piece of a link layer fragmented packet
	NoteCompressed                    // link layer compression hides the header
	NoteCorrupt                       // link layer header makes no sense
	NoteSwitchTag                     // a switch tag (DSA) was stepped over
	NoteNotIP                         // a protocol for which no EtherType stands
	NoteNoPayloadTLV                  // NFLOG message without payload
	NoteBadVersion                    // raw IP whose version is neither 4 nor 6
	NoteShortVLAN                     // VLAN tag cut short: skb_vlan_untag drops it
	NoteTooManyLayers                 // link layers nested too deep
)

var noteNames = [...]string{
	NoteNone:          "",
	NoteUnknownLink:   "no network header known for this link type",
	NoteShort:         "link layer header cut short",
	NoteTruncated:     "link layer header not captured in full",
	NoteControl:       "control or management frame",
	NoteEncrypted:     "encrypted frame",
	NoteFragmented:    "link layer fragment",
	NoteCompressed:    "compressed header",
	NoteCorrupt:       "corrupt link layer header",
	NoteSwitchTag:     "switch tag removed",
	NoteNotIP:         "not an IP protocol",
	NoteNoPayloadTLV:  "NFLOG message without payload",
	NoteBadVersion:    "IP version neither 4 nor 6",
	NoteShortVLAN:     "VLAN tag cut short",
	NoteTooManyLayers: "link layers nested too deep",
}

// String says it in words; "" for NoteNone.
func (n LinkNote) String() string {
	if int(n) < len(noteNames) {
		return noteNames[n]
	}
	return "unknown note"
}
