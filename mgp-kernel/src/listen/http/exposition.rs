//! The counts of the kernel in the text format of Prometheus, for `/metrics`. Where OpenTelemetry has a name for a metric or
//! a label, it has that name, in the form in which Prometheus has it.

use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use mgp_transport::http::HttpConfig;
use mgp_types::mgp::Timestamp;

use crate::admin::servers::resident_memory;
use crate::call::meter::{BOUNDS, MeterReading};
use crate::sections::Sections;
use crate::servers::upstream::ServerShared;
use crate::state_folder::DiskSpace;
use crate::telemetry;

/// Returns all counts in the text format of Prometheus.
pub(super) fn exposition(kernel: &Sections, http: &HttpConfig) -> String {
    let mut page = MetricsPage(String::new());
    page.servers(kernel);
    page.calls(kernel);
    page.refusals(kernel);
    page.record(kernel);
    page.kernel(kernel, http);
    page.0
}

/// A count of each server: its name, its kind, what it counts, and how it is read.
type ServerCount = (&'static str, &'static str, &'static str, fn(&ServerShared) -> u64);

/// The page of the metrics, as far as it is written.
struct MetricsPage(String);

impl MetricsPage {
    fn servers(&mut self, kernel: &Sections) {
        let servers = kernel.fleet.all();
        let counts: [ServerCount; 3] = [
            ("mgp_calls_in_work", "gauge", "Calls that a server works on.", |of| of.meter.read().in_work),
            (
                "mgp_server_ends_total",
                "counter",
                "Times that a server ended by itself, or went away.",
                |of| of.ended.load(Relaxed),
            ),
            ("mgp_server_given_up_total", "counter", "Times that a server was given up.", |of| {
                of.given_up.load(Relaxed)
            }),
        ];
        for (name, kind, help, value) in counts {
            self.family(name, kind, help);
            for server in &servers {
                self.sample(name, &[("server", server.id().as_str())], value(&server.of_server));
            }
        }
        self.family("mgp_server_state", "gauge", "1 for the state that a server is in.");
        for server in &servers {
            let state = server.state();
            self.sample(
                "mgp_server_state",
                &[("server", server.id().as_str()), ("state", state.as_str())],
                1,
            );
        }
        let name = "mgp_server_restarts_total";
        self.family(name, "counter", "Times that a server was connected to again.");
        let views = kernel.fleet.views();
        for server in &servers {
            let own = views.iter().filter(|view| view.id == *server.id());
            let restarts: u64 = own.map(|view| view.restarts).sum();
            self.sample(name, &[("server", server.id().as_str())], restarts);
        }
    }

    fn calls(&mut self, kernel: &Sections) {
        let name = "mcp_server_operation_duration_seconds";
        self.family(name, "histogram", "How long requests to servers took, checks and waiting included.");
        for server in kernel.fleet.all() {
            server.of_server.meter.each(|labels, reading| {
                let of_call = labels.into_iter().filter(|(_, value)| !value.is_empty());
                let labels: Vec<_> = [("server", server.id().as_str())].into_iter().chain(of_call).collect();
                self.histogram(name, &labels, reading);
            });
        }
        let agents = kernel.counts.agent_places.usage();
        let servers = kernel.counts.server_places.usage();
        self.family(
            "mgp_places_in_use",
            "gauge",
            "Calls that have a place of their agent, or of the servers.",
        );
        self.sample("mgp_places_in_use", &[("of", "agents")], agents.0);
        self.sample("mgp_places_in_use", &[("of", "servers")], servers.0);
        self.family("mgp_calls_waiting", "gauge", "Calls that wait in line for such a place.");
        self.sample("mgp_calls_waiting", &[("of", "agents")], agents.1);
        self.sample("mgp_calls_waiting", &[("of", "servers")], servers.1);
    }

    fn refusals(&mut self, kernel: &Sections) {
        self.family("mgp_refusals_total", "counter", "Requests that were refused, by section and rule.");
        for ((section, rule), count) in kernel.counts.refusals.read() {
            self.sample("mgp_refusals_total", &[("section", section), ("rule", rule)], count);
        }
        let failed = kernel.counts.failed_logins.load(Relaxed);
        self.one("mgp_failed_logins_total", "counter", "Logins by keys and tokens that failed.", failed);
        let waiting = kernel.policies.pending.list();
        self.one("mgp_approvals_waiting", "gauge", "Questions that wait for a human.", waiting.len());
        let oldest = waiting.iter().map(|question| Timestamp::now().since(question.asked_at)).max();
        let oldest = oldest.unwrap_or_default().as_secs();
        self.one("mgp_approvals_oldest_seconds", "gauge", "How long the oldest of them waits.", oldest);
    }

    fn record(&mut self, kernel: &Sections) {
        let log = &kernel.audit.log;
        self.one("mgp_audit_events_total", "counter", "Events in the record.", log.head().seq);
        self.one("mgp_audit_queue", "gauge", "Records that wait to be written.", log.queued());
        if let Some(lag) = kernel.audit.push_lag() {
            self.one("mgp_audit_push_waiting", "gauge", "Events that wait to be pushed.", lag.events);
            self.one("mgp_audit_push_lag_seconds", "gauge", "Age of the oldest of them.", lag.seconds);
            let help = "Attempts to push events that failed.";
            self.one("mgp_audit_push_failures_total", "counter", help, lag.failures);
        }
    }

    fn kernel(&mut self, kernel: &Sections, http: &HttpConfig) {
        self.one("mgp_tools", "gauge", "Tools in the catalog.", kernel.tools.index.snapshot().len());
        self.one("mgp_http_sessions", "gauge", "Sessions of clients over HTTP.", http.open_sessions());
        self.one("mgp_http_streams", "gauge", "Event streams that clients read.", http.open_streams());
        if let Some(DiskSpace { free, total }) = DiskSpace::of(kernel.config.state()) {
            self.one("mgp_state_disk_free_bytes", "gauge", "Free bytes on the disk of the state.", free);
            self.one("mgp_state_disk_bytes", "gauge", "Size of the disk of the state.", total);
        }
        let help = "Spans and log lines that were not sent to the collector.";
        self.one("mgp_telemetry_dropped_total", "counter", help, telemetry::not_exported());
        let help = "Log lines that were left out because there were too many of their kind.";
        self.one("mgp_log_lines_left_out_total", "counter", help, telemetry::lines_left_out());
        if let Some(bytes) = resident_memory(std::process::id()) {
            self.one("process_resident_memory_bytes", "gauge", "Resident memory of the kernel.", bytes);
        }
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        self.one("process_open_fds", "gauge", "Files that the kernel has open.", files);
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let since = now.saturating_sub(kernel.lifecycle.life.uptime()).as_secs();
        self.one("process_start_time_seconds", "gauge", "When the kernel started, in Unix time.", since);
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], reading: &MeterReading) {
        let (bucket, mut up_to) = (format!("{name}_bucket"), 0);
        let bounds = BOUNDS.iter().map(|bound| seconds(*bound).to_string());
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(reading.took) {
            up_to += count;
            self.sample(&bucket, &[labels, &[("le", bound.as_str())]].concat(), up_to);
        }
        self.sample(&format!("{name}_sum"), labels, seconds(reading.micros));
        self.sample(&format!("{name}_count"), labels, reading.calls);
    }

    /// Writes a metric that has one value.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<_> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        match &labels[..] {
            [] => self.line(format_args!("{name} {value}")),
            labels => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _infallible = self.0.write_fmt(format_args!("{line}\n"));
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}
