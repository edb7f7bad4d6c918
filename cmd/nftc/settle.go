package main

import "github.com/nftc/nftc/eval"

// settles says, for each thing that an evaluation does not know, what would
// tell it: a flag, a key of packet notation, or another capture.
var settles = map[eval.Cause]string{
	eval.CauseTruncated:    "a capture of whole packets",
	eval.CauseLinkLayer:    "a capture with link layer headers",
	eval.CauseRandom:       "nothing: the kernel draws it for each packet",
	eval.CauseCPU:          "cpu=N in packet notation",
	eval.CauseSocket:       "skuid= or skgid= in packet notation where those are asked for; other keys of sockets cannot be stated",
	eval.CauseCgroup:       "cgroup=N in packet notation",
	eval.CauseSecmark:      "secmark=N in packet notation",
	eval.CauseInterface:    "--iif NAME, or in=NAME in packet notation",
	eval.CauseOutInterface: "--oif NAME, out=NAME in packet notation, or --host with routes",
	eval.CauseIfType:       "iiftype= or oiftype= in packet notation, or --host with the output of 'ip -j link'",
	eval.CauseIfGroup:      "iifgroup= or oifgroup= in packet notation, or --host with the output of 'ip -j link'",
	eval.CauseIfKind:       "--host with the output of 'ip -j -d link'",
	eval.CauseVRF:          "--host with the output of 'ip -j -d link'",
	eval.CauseBridge:       "ibrname= or obrname= in packet notation, or --host with the output of 'ip -j -d link'",
	eval.CausePriority:     "priority=N in packet notation",
	eval.CauseTime:         "time= in packet notation, or a capture, which has times",
	eval.CauseRoute:        "--host with the output of 'ip -j addr' and 'ip -j route', or --host-addr",
	eval.CauseOSF:          "nothing: fingerprints are the kernel's",
	eval.CauseHelper:       "ct.helper= in packet notation",
	eval.CauseConnection:   "the whole connection in the trace, or ct.mark=, ct.status= and so on in packet notation",
	eval.CauseTunnel:       "nothing: only the kernel knows the metadata of tunnel devices",
	eval.CauseFlowHash:     "nothing: the kernel's key is secret",
	eval.CauseXtables:      "nothing: xtables extensions are not evaluated",
	eval.CauseTooMany:      "any of the things above",
	eval.CauseRefragmented: "nothing: the fragments that leave are not evaluated one by one",
}
