//! The counts of the kernel in the text format of Prometheus, for `/metrics`.

use std::fmt::Write as _;

use mgp_security::audit::AuditLog;
use mgp_security::permission::PendingApprovals;
use mgp_toolindex::Index;

use super::{BOUNDS, MeterReading};
use crate::servers::fleet::Fleet;

/// Returns all counts in the text format of Prometheus.
pub(crate) fn exposition(
    fleet: &Fleet,
    index: &Index,
    pending: &PendingApprovals,
    log: &AuditLog,
    sessions: usize,
) -> String {
    let servers = fleet.all();
    let readings: Vec<_> =
        servers.iter().map(|server| (label(server.id().as_str()), server.meter().read())).collect();
    let mut out = String::new();
    family(&mut out, "mgp_calls_in_work", "gauge", "Calls that a server works on.");
    for (server, reading) in &readings {
        line(&mut out, "mgp_calls_in_work", server, reading.in_work);
    }
    family(&mut out, "mgp_call_errors_total", "counter", "Calls that ended in an error.");
    for (server, reading) in &readings {
        line(&mut out, "mgp_call_errors_total", server, reading.failed);
    }
    family(&mut out, "mgp_call_seconds", "histogram", "How long calls took, checks and waiting included.");
    for (server, reading) in &readings {
        histogram(&mut out, server, reading);
    }
    family(&mut out, "mgp_server_state", "gauge", "1 for the state that a server is in.");
    for server in &servers {
        let (name, state) = (label(server.id().as_str()), server.state());
        writeln(&mut out, format_args!("mgp_server_state{{server=\"{name}\",state=\"{state}\"}} 1"));
    }
    family(
        &mut out,
        "mgp_server_ends_total",
        "counter",
        "Times that a server ended by itself, or went away.",
    );
    for server in &servers {
        line(&mut out, "mgp_server_ends_total", &label(server.id().as_str()), server.ends().read().0);
    }
    family(&mut out, "mgp_server_given_up_total", "counter", "Times that a server was given up.");
    for server in &servers {
        line(&mut out, "mgp_server_given_up_total", &label(server.id().as_str()), server.ends().read().1);
    }
    family(&mut out, "mgp_tools", "gauge", "Tools in the catalog.");
    writeln(&mut out, format_args!("mgp_tools {}", index.snapshot().len()));
    family(&mut out, "mgp_approvals_waiting", "gauge", "Questions that wait for a human.");
    writeln(&mut out, format_args!("mgp_approvals_waiting {}", pending.list().len()));
    family(&mut out, "mgp_http_sessions", "gauge", "Sessions of clients over HTTP that are open.");
    writeln(&mut out, format_args!("mgp_http_sessions {sessions}"));
    family(&mut out, "mgp_audit_events_total", "counter", "Events in the record.");
    writeln(&mut out, format_args!("mgp_audit_events_total {}", log.head().seq));
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

fn line(out: &mut String, name: &str, server: &str, value: u64) {
    writeln(out, format_args!("{name}{{server=\"{server}\"}} {value}"));
}

fn writeln(out: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _infallible = out.write_fmt(format_args!("{line}\n"));
}

fn label(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of a lifetime are fewer than a double counts exactly"
)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
