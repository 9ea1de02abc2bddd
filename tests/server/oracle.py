#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oracle.py CAMEO: responses in protobuf as protoc and Go's pprof read them.

The messages are written from the contract. A field that a message does not have, or of
another type, is printed by protoc as a number, which the test rejects.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from serving import CPU, DATA, QUERIER, RANGE, Server, check, finish, message, push, skip

PROTO = """
syntax = "proto3";
package q;
message LabelPair { string name = 1; string value = 2; }
message Labels { repeated LabelPair labels = 1; }
message ProfileType { string ID = 1; string name = 2; string sample_type = 4;
  string sample_unit = 5; string period_type = 6; string period_unit = 7; }
message ProfileTypesResponse { repeated ProfileType profile_types = 1; }
message NamesResponse { repeated string names = 1; }
message SeriesResponse { repeated Labels labels_set = 2; }
message Level { repeated int64 values = 1; }
message FlameGraph { repeated string names = 1; repeated Level levels = 2; int64 total = 3;
  int64 max_self = 4; }
message FlameGraphDiff { repeated string names = 1; repeated Level levels = 2; int64 total = 3;
  int64 max_self = 4; int64 left_ticks = 5; int64 right_ticks = 6; }
message DiffResponse { FlameGraphDiff flamegraph = 1; }
message ValueType { int64 type = 1; int64 unit = 2; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2;
  repeated Label label = 3; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3;
  uint64 file_offset = 4; int64 filename = 5; int64 build_id = 6; bool has_functions = 7;
  bool has_filenames = 8; bool has_line_numbers = 9; bool has_inline_frames = 10; }
message Line { uint64 function_id = 1; int64 line = 2; int64 column = 3; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3;
  repeated Line line = 4; bool is_folded = 5; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4;
  int64 start_line = 5; }
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2;
  repeated Mapping mapping = 3; repeated Location location = 4; repeated Function function = 5;
  repeated string string_table = 6; int64 drop_frames = 7; int64 keep_frames = 8;
  int64 time_nanos = 9; int64 duration_nanos = 10; ValueType period_type = 11; int64 period = 12;
  repeated int64 comment = 13; int64 default_sample_type = 14; }
message PprofResponse { Profile profile = 1; }
message StacktracesResponse { FlameGraph flamegraph = 1; bytes tree = 2; string dot = 3;
  PprofResponse pprof = 5; }
message Point { double value = 1; int64 timestamp = 2; }
message Line2 { repeated LabelPair labels = 1; repeated Point points = 2; }
message PointsResponse { repeated Line2 series = 1; }
message Slot { int64 timestamp = 1; repeated double y_min = 2; repeated int32 counts = 3; }
message HeatmapLine { repeated LabelPair labels = 1; repeated Slot slots = 2; }
message HeatmapResponse { repeated HeatmapLine series = 1; }
message StatsResponse { bool data_ingested = 1; int64 oldest_profile_time = 2;
  int64 newest_profile_time = 3; }
"""

TIMES = ((3, RANGE["start"]), (4, RANGE["end"]))
VALUES = ((1, CPU), (2, "{}"), *TIMES)
STEP = b"\x00\x00\x00\x00\x00\x00\x2e\x40"  # 15.0


def fixed64(key, data):
    return bytes([key << 3 | 1]) + data


# method, request, message of the response, text that it must contain
CASES = [
    ("ProfileTypes", message((1, RANGE["start"]), (2, RANGE["end"])), "ProfileTypesResponse",
     ['sample_type: "cpu"', 'period_unit: "nanoseconds"']),
    ("LabelNames", message((2, RANGE["start"]), (3, RANGE["end"])), "NamesResponse",
     ['names: "instance"']),
    ("LabelValues", message((1, "region"), *TIMES), "NamesResponse",
     ['names: "eu"', 'names: "us"']),
    ("Series", message((2, "service_name"), *TIMES), "SeriesResponse", ['value: "mail"']),
    ("SelectMergeStacktraces", message(*VALUES), "StacktracesResponse",
     ["total: 300000000", 'names: "smtp"']),
    ("SelectMergeStacktraces", message(*VALUES, (6, 2)), "StacktracesResponse", ["tree: "]),
    ("SelectMergeStacktraces", message(*VALUES, (6, 4)), "StacktracesResponse",
     ["period: 10000000", 'string_table: "smtp"']),
    ("SelectMergeProfile", message(*VALUES), "Profile",
     ["duration_nanos: 45000000000", 'string_table: "smtp"']),
    ("SelectSeries", message(*VALUES, (5, "region")) + fixed64(6, STEP), "PointsResponse",
     ["value: 110000000", 'value: "us"']),
    ("SelectHeatmap", message(*VALUES) + fixed64(5, STEP) + message((7, 1)), "HeatmapResponse",
     ["y_min: ", "counts: 1"]),
    ("Diff", message((1, message(*VALUES)), (2, message(*VALUES))), "DiffResponse",
     ["left_ticks: 300000000", "total: 600000000"]),
    ("GetProfileStats", b"", "StatsResponse", ["data_ingested: true"]),
]


def check_protoc(server, directory):
    with open(os.path.join(directory, "q.proto"), "w") as f:
        f.write(PROTO)
    for method, request, kind, wanted in CASES:
        status, _, answer = server.ask(QUERIER + method, request,
                                       {"Content-Type": "application/proto"})
        run = subprocess.run(["protoc", "--decode=q." + kind, "-I", directory, "q.proto"],
                             input=answer, capture_output=True)
        text = run.stdout.decode()
        missing = [w for w in wanted if w not in text]
        unknown = re.findall(r"^\s*\d+[:\s].*", text, re.M)
        check("protoc reads %s" % method, status == 200 and run.returncode == 0 and
              not missing and not unknown, "%s missing %s unknown %s\n%s" %
              (run.stderr, missing, unknown, text))


def check_go(server, directory):
    run = subprocess.run(
        ["go", "tool", "pprof", "-top", "-nodecount=3", "-symbolize=none",
         "%s/api/v1/profile?type=%s&from=%d&until=%d" % (server.url, CPU, RANGE["start"],
                                                         RANGE["end"])],
        capture_output=True, text=True, timeout=240, cwd=directory,
        env={**os.environ, "PPROF_TMPDIR": directory})
    check("go tool pprof reads a URL", run.returncode == 0 and "300ms total" in run.stdout and
          "parse" in run.stdout, run.stdout + run.stderr)


def main():
    with tempfile.TemporaryDirectory() as directory:
        server = Server(sys.argv[1], os.path.join(directory, "data"))
        for i, (labels, time_s, folded) in enumerate(DATA):
            push(server, labels, time_s, folded, "id-%d" % i)
        if shutil.which("protoc"):
            check_protoc(server, directory)
        else:
            skip("protobuf", "protoc is not installed")
        if shutil.which("go"):
            check_go(server, directory)
        else:
            skip("Go's pprof", "Go is not installed")
        server.stop()
    return finish()


sys.exit(main())
