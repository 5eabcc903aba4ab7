//! The counts of the kernel in the text format of Prometheus, for `/metrics`.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::call::meter::{BOUNDS, MeterReading};
use crate::sections::Sections;
use crate::servers::upstream::ServerShared;

/// Returns all counts in the text format of Prometheus.
pub(super) fn exposition(kernel: &Sections, sessions: usize) -> String {
    let Sections { fleet, tools, policies, audit, .. } = kernel;
    let servers: Vec<_> =
        fleet.all().into_iter().map(|server| (label(server.id().as_str()), server)).collect();
    let mut out = String::new();
    let mut of_servers = |name: &str, kind: &str, help: &str, value: fn(&ServerShared) -> u64| {
        family(&mut out, name, kind, help);
        for (label, server) in &servers {
            writeln(&mut out, format_args!("{name}{{server=\"{label}\"}} {}", value(&server.of_server)));
        }
    };
    of_servers("mgp_calls_in_work", "gauge", "Calls that a server works on.", |shared| {
        shared.meter.read().in_work
    });
    of_servers("mgp_call_errors_total", "counter", "Calls that ended in an error.", |shared| {
        shared.meter.read().failed
    });
    of_servers(
        "mgp_server_ends_total",
        "counter",
        "Times that a server ended by itself, or went away.",
        |shared| shared.ended.load(Relaxed),
    );
    of_servers("mgp_server_given_up_total", "counter", "Times that a server was given up.", |shared| {
        shared.given_up.load(Relaxed)
    });
    family(&mut out, "mgp_call_seconds", "histogram", "How long calls took, checks and waiting included.");
    for (label, server) in &servers {
        histogram(&mut out, label, &server.of_server.meter.read());
    }
    family(&mut out, "mgp_server_state", "gauge", "1 for the state that a server is in.");
    for (label, server) in &servers {
        let state = server.state();
        writeln(&mut out, format_args!("mgp_server_state{{server=\"{label}\",state=\"{state}\"}} 1"));
    }
    for (name, kind, help, value) in [
        ("mgp_tools", "gauge", "Tools in the catalog.", tools.index.snapshot().len() as u64),
        (
            "mgp_approvals_waiting",
            "gauge",
            "Questions that wait for a human.",
            policies.pending.list().len() as u64,
        ),
        ("mgp_http_sessions", "gauge", "Sessions of clients over HTTP that are open.", sessions as u64),
        ("mgp_audit_events_total", "counter", "Events in the record.", audit.log.head().seq),
    ] {
        family(&mut out, name, kind, help);
        writeln(&mut out, format_args!("{name} {value}"));
    }
    out
}

fn histogram(out: &mut String, server: &str, reading: &MeterReading) {
    let mut up_to = 0;
    for (bound, count) in BOUNDS.iter().zip(&reading.took) {
        up_to += count;
        let seconds = seconds(*bound);
        writeln(out, format_args!("mgp_call_seconds_bucket{{server=\"{server}\",le=\"{seconds}\"}} {up_to}"));
    }
    let (calls, sum) = (reading.calls, seconds(reading.micros));
    writeln(out, format_args!("mgp_call_seconds_bucket{{server=\"{server}\",le=\"+Inf\"}} {calls}"));
    writeln(out, format_args!("mgp_call_seconds_sum{{server=\"{server}\"}} {sum}"));
    writeln(out, format_args!("mgp_call_seconds_count{{server=\"{server}\"}} {calls}"));
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    writeln(out, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
}

fn writeln(out: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _infallible = out.write_fmt(format_args!("{line}\n"));
}

fn label(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}
