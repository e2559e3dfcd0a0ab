"""The examples in the headers compile: python3 tests/header_examples_test.py ROOT [COMPILER]

An example is a block of lines that begin with `//   ` before a header's `#pragma once`, one of which ends in `;`. Each becomes
a function in the namespace of its header. What it takes for given (`request`, `now`) is declared in GIVEN below. A block with
`...` is a sketch, and is not compiled."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import style_check  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILER = os.environ.get("CXX", "c++")
if len(sys.argv) > 1:
    ROOT = pathlib.Path(sys.argv[1]).resolve()
if len(sys.argv) > 2:
    COMPILER = sys.argv[2]

# Verbs that an example may use of what it has got.
LIMIT = ["-ferror-limit=0"] if "clang" in COMPILER else []
WORDS = "use complain send publish_it wake_at kick write connect_to print".split()
# Header -> declarations that its examples take for given, in its namespace.
GIVEN = {
    "base/files.h": "std::string content_of_it;",
    "report/regressions.h": "run::SuiteResult result; scenario::Catalogue catalogue; ReportContext context;"
                            "std::size_t width;#return run::ExitCode",
    "report/github.h": "bool wanted; run::SuiteResult result; scenario::Catalogue catalogue;"
                                   "ReportContext context;",
    "base/text/output.h": "std::string path, title, console_text, document;",
    "base/result.h": "struct ParseError {}; Result<int, ParseError> parse_port(std::string_view); std::string_view text;"
                     "#return Result<int, ParseError>",
    "codec/command.h": "std::string_view payload;",
    "codec/dialect.h": "std::string out;",
    "concurrency/stress_session.h": "StressSettings settings; std::atomic<bool> stop;",
    "concurrency/stress_phase.h":
        "const StressPhase& phase; endpoint::Endpoint& endpoint; const std::atomic<bool>& stop; bool strict;"
        "scenario::Catalogue catalogue; run::SuiteResult result; struct { std::string stopped_because; } context;",
    "traffic/record/enumeration_phase.h":
        "const EnumerationPhase& phase; endpoint::Endpoint& endpoint; const std::atomic<bool>& stop; bool strict;"
        "std::function<void(const search::ExploreProgress&)> progress; scenario::Catalogue catalogue; run::SuiteResult result;",
    "suite/judge/attribution.h": "scenario::RequestStep step; Exchange exchange{codec::Message{}, {}, 0}; KeyStates keys;",
    "suite/judge/root_cause.h": "std::vector<Testimony> failures; std::map<std::string, std::size_t> passed;"
                                "scenario::Catalogue catalogue;",
    "suite/judge/exchange.h": "codec::Message request; codec::Message message; endpoint::Event event;"
                                    "std::int64_t wall_ms, received_ms; struct { std::chrono::microseconds now(); } clock;",
    "suite/judge/oracle.h": "ClockBounds bounds; codec::Message request; codec::Message reply;"
                                  "std::chrono::microseconds sent, received; std::int64_t sent_ms, received_ms;",
    "suite/judge/store_clock.h": "ClockBounds bounds; std::int64_t timestamp_ms, sent_ms, received_ms;",
    "traffic/record/capture_history.h": "Capture capture; std::string path;",
    "traffic/record/capture_log.h": "std::string line;",
    "traffic/record/capture_scenario.h": "Capture capture; std::string path;",
    "traffic/record/explainer.h": "std::string text_of(std::string_view); std::vector<CapturedEvent> log;"
                                     "std::vector<std::string> lines; std::chrono::microseconds now;",
    "traffic/record/workload_scenario.h": "workload::Trace trace; void load(const std::string&);",
    "clients/judge.h": "std::string bytes; Time now;",
    "clients/client_report/client_report.h": "JudgedClients judged;",
    "endpoint/fault_schedule.h": "std::uint64_t seed; std::chrono::nanoseconds time; void inject(const Strike&);",
    "endpoint/tap.h": "TapWatcher& watcher;",
    "endpoint/recorded.h": "std::string file; Capabilities capabilities;",
    "endpoint/recording.h": "std::unique_ptr<Endpoint> store;",
    "endpoint/memory_file.h": "std::string pem;",
    "endpoint/throw_away_certificate.h": "std::string ca_file; void serve(const std::string&, const std::string&);",
    "suite/target/fault_plan.h": "std::string content; std::vector<scenario::LoadError> errors;",
    "reference_store/served/served_store.h": "Options options; store::Caller caller;"
                                             "codec::Message message; std::vector<store::Delivery> out;"
                                             "void tell(const std::string&);",
    "clients/serve/sender.h": "codec::Message request;",
    "clients/serve/store_client.h": "endpoint::Endpoint& broker; served::Options options; bool stopped;"
                                    "void report(const std::string&);#return Result<void, endpoint::Error>",
    "reference_store/faults/switched_store.h": "std::uint64_t seed;",
    "traffic/replay/replay.h": "scenario::Case test_case; std::vector<run::CaseResult> results;"
                                   "scenario::SourceFile file; std::set<std::string> ids;",
    "report/saved_run.h": "scenario::Library library;",
    "report/certificate.h": "scenario::Library library; run::SuiteResult result; ReportContext context;",
    "report/site.h": "scenario::Library library; std::vector<SiteCertificate> certificates;",
    "report/resume.h": "run::SuiteOptions suite; scenario::Library library;",
    "suite/run/case_runner.h": "endpoint::Endpoint& endpoint; scenario::Case test_case;",
    "suite/run/path_times.h": "struct { endpoint::Duration round_trip_p99; } preflight;"
                                    "judge::Exchange exchange; struct { endpoint::Duration time; } reply;"
                                    "struct { void await(judge::Exchange&, endpoint::Duration); } client;",
    "suite/run/client_pool.h": "run::ClientPool pool{\"run\", 1}; run::ClientKind kind; void use(run::SpareClient&);"
                                     "void connect(const std::string&); struct { run::SpareClient release(); } client;",
    "suite/run/request_client.h": "std::unique_ptr<endpoint::Client> connection; std::string client_id;"
                                        "endpoint::Session& session;",
    "suite/scenario/recorded.h": "std::string file, now, seen;",
    "suite/scenario/writer.h": "std::vector<Case> cases; std::vector<LoadError> errors;"
                                     "std::set<std::string> requirements;",
    "suite/scenario/yaml_tree.h": "YamlPlace place;",
    "concurrency/stress/load.h": "endpoint::Endpoint& endpoint; std::atomic<bool> stop; TrafficOptions traffic;",
    "concurrency/stress/online_checker.h": "history::Bounds bounds; std::vector<history::Event> events; std::string prefix;"
                                    "history::Time now;",
    "concurrency/stress/shrink.h": "const Mix* mix; std::string key; Attempt attempt;",
    "concurrency/stress/simulation.h": "std::unique_ptr<store::Handler> handler;",
    "concurrency/stress/traffic.h": "TrafficOptions options; Journal& journal; history::Time now; std::uint64_t wall_ms;"
                        "std::unique_ptr<endpoint::Client> client; codec::Message message;",
    "clients/client_run/scripted_broker.h": "CommandKind get; std::string_view bytes; clients::Time now;",
    "clients/client_run/test_bed.h": "BrokerOptions options; AdapterProcess& adapter; std::string line; Moment deadline;",
    "clients/client_report/recorded_clients.h": "record::Capture capture;",
    "traffic/record/capture_pcap.h": "TcpEvent event;",
    "traffic/record/capture_segments.h": "std::string_view bytes;",
    "traffic/record/capture_tcp.h": "Segment segment;",
    "traffic/record/recording.h": "Capture capture;",
    "selftest/conversations.h": "endpoint::InProcessEndpoint& right; endpoint::InProcessEndpoint& wrong;",
    "traffic/search/explore.h": "endpoint::Endpoint& endpoint; std::atomic<bool> stop;"
                                    "std::function<void(const ExploreProgress&)> progress;",
    "traffic/search/explore_report.h": "ExploreResult result;#return run::ExitCode",
    "clients/serve/client_judge.h": "endpoint::TapOptions options; clients::Time wall_clock(); bool interrupted;"
                                        "#return run::ExitCode",
    "clients/serve/judged_command.h": "BrokerPlace place; void wait();",
    "clients/serve/traffic_log.h": "void start_broker(const std::string&); std::chrono::microseconds now;",
    "traffic/search/judged_run.h": "endpoint::Session* session; workload::Trace trace;",
    "traffic/search/saved_workload.h": "std::string text;",
    "base/text/colour.h": "bool on_terminal;",
    "endpoint/late_pubacks.h": "std::uint64_t counted; std::string_view bytes_of_the_broker; LatePubacks::Moment now, later;",
    "endpoint/endpoint.h": "codec::Message request;",
    "concurrency/stress/restart_probe.h": "endpoint::Session& session; std::int64_t wall_ms; void restart();",
    "fuzz/judged_store.h": "workload::Trace trace; codec::DialectId dialect;",
    "fuzz/input_reader.h": "const std::uint8_t* data; std::size_t size;",
    "fuzz/service_driver.h": "std::string_view bytes;",
    "fuzz/store_driver.h": "workload::Trace trace;",
    "concurrency/histories/timeline.h":
        "std::vector<history::Event> events; std::vector<history::KeyVerdict> verdicts; scenario::Catalogue catalogue;",
    "concurrency/history/checker.h": "std::vector<Operation> operations;",
    "concurrency/history/history_file.h": "Operation operation;",
    "concurrency/history/violation_operations.h": "Operation operation; Index number = 0;",
    "hlc/hlc.h": "std::int64_t wall_ms;",
    "reference_store/delay_queue.h": "Delivery delivery; std::chrono::microseconds now; std::vector<Delivery> out;",
    "reference_store/faults/fault.h": "std::uint64_t seed;",
    "reference_store/service.h": "Caller caller; codec::Message message; Instant now;",
    "reference_store/store.h": "codec::Command set; std::string ts; Instant now;",
    "workload/testing/model_run.h": "NaiveModel model({}); std::int64_t start_ms; Operation operation;",
    "workload/testing/naive_model.h": "std::size_t i; Operation op; Offered ts, ft; Clocks now;",
    "workload/random.h": "std::uint64_t seed; std::vector<int> trace;",
    "workload/trace_bytes.h": "std::string_view bytes;",
    "workload/trace_mutator.h": "std::uint64_t seed; Trace trace;",
    "endpoint/wire/messages.h": "codec::Message message; std::uint16_t next_id();",
    "endpoint/wire/mqtt_3_1_1.h": "std::string out;",
}


def examples(text):
    """(line, code) of each example in the comment at the head of a header."""
    head = text.split("#pragma once")[0]
    for match in re.finditer(r"(?:^//   .*\n)+", head, re.M):
        code = "".join(line[5:] + "\n" for line in match[0].splitlines())
        if re.search(r";\s*(//.*)?$", code, re.M) and "..." not in code:
            yield head.count("\n", 0, match.start()) + 1, code.strip("\n")


def extern(given):
    """The declarations as such, not definitions: references need no object, and nothing is constructed."""
    parts = re.findall(r"[^;{]*(?:\{[^}]*\})?[^;]*;", given)
    return "".join(part if re.match(r"\s*(using |struct \w+ \{|.*\)\s*;|struct \{)", part) else "extern " + part.strip() + "\n"
                   for part in parts)


def is_ours(name):
    """Those of adapters are of programs for users, who have no suite."""
    return not style_check.is_test(name) and not name.startswith("adapters/")


def program():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.h"], capture_output=True, text=True, check=True).stdout
    words = "".join(f"template <class... Things> void {word}(Things&&...) {{}}\n" for word in WORDS)
    includes, functions = ['#include "endpoint/in_process.h"\n'], []
    for number, name in enumerate(name for name in listed.split() if is_ours(name)):
        text = (ROOT / name).read_text(encoding="utf-8")
        for line, code in examples(text):
            namespace = re.search(r"^namespace (fencepost[\w:]*)", text, re.M)[1]
            given, _, returned = GIVEN.get(name, "").partition("#return ")
            includes.append(f'#include "{name}"\n')
            functions.append(f"namespace {namespace} {{\nnamespace example_{number}_{line} {{\n{extern(given)}\n"
                             f"[[maybe_unused]] {returned or 'void'} example() {{\nusing namespace std::chrono_literals;\n"
                             f"using namespace words;\n"
                             f'#line {line} "{name}"\n{code}\n{"return {};" if returned else ""}\n}}\n}}\n}}\n')
    return includes, (f"#include <chrono>\n#include <string>\n#include <string_view>\n{''.join(sorted(set(includes)))}"
                      f"namespace words {{\n{words}}}\n{''.join(functions)}")


class Examples(unittest.TestCase):
    def test_nothing_is_given_that_no_example_needs(self):
        self.assertEqual([name for name in GIVEN if not list(examples((ROOT / name).read_text(encoding="utf-8")))], [])

    def test_they_compile(self):
        includes, text = program()
        self.assertGreater(len(includes), 25)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "examples.cc"
            path.write_text(text, encoding="utf-8")
            done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-w", *LIMIT, "-I", ROOT, path], text=True,
                                  capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, "\n" + "\n".join(
            line for line in done.stderr.splitlines() if "error:" in line))

    def test_what_does_not_compile_is_seen(self):
        head = "// A header.\n//\n//   no_such_thing(1);\n//\n//   a -> b\n#pragma once\n//   later();\n"
        self.assertEqual([code for _, code in examples(head)], ["no_such_thing(1);"])
        self.assertEqual(list(examples("//\n//   run(case, ...);\n#pragma once\n")), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
