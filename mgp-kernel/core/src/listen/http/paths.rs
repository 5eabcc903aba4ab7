//! The paths beside the protocol's: `/healthz`, `/readyz`, `/metrics`, the metadata of tokens, and the data that servers read.

use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use mgp_security::oauth::ResourceServer;
use mgp_transport::http::{HttpBody, HttpConfig};
use mgp_types::json::ObjectWriter;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{ServerState, Timestamp, TraceId};

use super::certificate_end::certificate_end;
use crate::admin::servers::resident_memory;
use crate::call::meter::{BOUNDS, MeterReading};
use crate::data::empty;
use crate::sections::Sections;
use crate::servers::upstream::Upstream;
use crate::state::folder::DiskSpace;
use crate::telemetry;

/// Returns the answer at a path that takes no key: `/healthz`, which says whether this process answers, and `/readyz`, which
/// says whether it takes calls and, if it does not, why, and how many servers are connected; the document that tells clients who issues the tokens for
/// this kernel; and the data of servers, which their address gives away. Web pages from other origins are refused.
pub(super) fn open(
    kernel: &Sections,
    http: &HttpConfig,
    tokens: Option<&ResourceServer>,
    head: &Parts,
) -> Option<Response<HttpBody>> {
    let path = head.uri.path();
    if kernel.data.serves(path) {
        let is_answered = http.answers_beside(&head.headers, &head.uri);
        return Some(if is_answered { kernel.data.answer(head) } else { empty(StatusCode::FORBIDDEN) });
    }
    let metadata = || Some((StatusCode::OK, tokens?.metadata_at(path)?));
    let get = Some(path).filter(|_| head.method == Method::GET)?;
    let (status, text) = health(kernel, get).or_else(metadata)?;
    Some(unless_foreign(http, head, uncached(status, "application/json", text)))
}

/// Returns the answer at `/metrics`, if the configuration has it served.
pub(super) fn metrics(kernel: &Sections, http: &HttpConfig, head: &Parts) -> Option<Response<HttpBody>> {
    let is_metrics = head.method == Method::GET && head.uri.path() == "/metrics";
    let is_served = is_metrics && kernel.config.load().telemetry.metrics;
    let text = || exposition(kernel, http);
    let metrics = || uncached(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text());
    is_served.then(|| unless_foreign(http, head, metrics()))
}

fn health(kernel: &Sections, path: &str) -> Option<(StatusCode, String)> {
    match path {
        "/healthz" => Some((StatusCode::OK, r#"{"status":"ok"}"#.to_owned())),
        "/readyz" => {
            let servers = kernel.fleet.all();
            let connected = servers.iter().filter(|server| server.state() == ServerState::Connected).count();
            let fault = kernel.audit.log.fault();
            let is_stale = kernel.link.as_ref().is_some_and(|link| link.freshness.is_stale());
            let (status, word) = if kernel.lifecycle.is_stopping() {
                (StatusCode::SERVICE_UNAVAILABLE, "draining")
            } else if fault.is_some() {
                (StatusCode::SERVICE_UNAVAILABLE, "not_recording")
            } else if is_stale {
                (StatusCode::SERVICE_UNAVAILABLE, "stale")
            } else {
                (StatusCode::OK, "ready")
            };
            let mut body = ObjectWriter::new();
            body.text("status", word);
            if let Some(fault) = &fault {
                body.text("reason", fault.message());
            } else if is_stale {
                body.text("reason", "the decisions of other kernels are not known");
            }
            body.value("servers", &servers.len());
            body.value("connected", &connected);
            Some((status, String::from_utf8_lossy(body.finish().to_raw().as_bytes()).into_owned()))
        }
        _ => None,
    }
}

/// Returns the page, or its refusal where the request is one of a web page from another origin.
fn unless_foreign(http: &HttpConfig, head: &Parts, found: Response<HttpBody>) -> Response<HttpBody> {
    if http.answers_beside(&head.headers, &head.uri) {
        return found;
    }
    let text =
        "this `Host` or `Origin` is not served; `listen.allowed_hosts` and `allowed_origins` name others\n";
    uncached(StatusCode::FORBIDDEN, "text/plain; charset=utf-8", text)
}

/// Returns the trace of a request over HTTP: that of `traceparent`, or a new one.
pub(super) fn request_trace(headers: &HeaderMap) -> TraceId {
    let carried = headers.get(key::TRACEPARENT).and_then(|parent| parent.to_str().ok());
    carried.and_then(TraceId::from_traceparent).unwrap_or_else(TraceId::random)
}

/// Returns a page that nobody keeps.
pub(crate) fn uncached(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns all counts in the text format of Prometheus. Where OpenTelemetry has a name for a metric or a label, it has that
/// name, in the form in which Prometheus has it.
fn exposition(kernel: &Sections, http: &HttpConfig) -> String {
    let mut page = MetricsPage(String::new());
    page.servers(kernel);
    page.calls(kernel);
    page.kernel(kernel, http);
    page.0
}

/// The page of the metrics, as far as it is written.
struct MetricsPage(String);

type ServerCount = fn(&Upstream) -> u64;

impl MetricsPage {
    fn servers(&mut self, kernel: &Sections) {
        let servers = kernel.fleet.all();
        let counts: [(&str, ServerCount); 4] = [
            ("mgp_calls_in_work", |server| server.of_server.meter.read().in_work),
            ("mgp_server_ends_total", |server| server.of_server.ended.load(Relaxed)),
            ("mgp_server_given_up_total", |server| server.of_server.given_up.load(Relaxed)),
            ("mgp_server_restarts_total", |server| server.views().iter().map(|view| view.restarts).sum()),
        ];
        for (name, value) in counts {
            self.family(name);
            for server in &servers {
                self.sample(name, &[("server", server.id().as_str())], value(server));
            }
        }
        let name = "mgp_server_state";
        self.family(name);
        for server in &servers {
            let state = server.state();
            self.sample(name, &[("server", server.id().as_str()), ("state", state.as_str())], 1);
        }
    }

    fn calls(&mut self, kernel: &Sections) {
        let name = "mcp_server_operation_duration_seconds";
        self.family(name);
        for server in kernel.fleet.all() {
            server.of_server.meter.each(|labels, reading| {
                let of_call = labels.into_iter().filter(|(_, value)| !value.is_empty());
                let labels: Vec<_> = [("server", server.id().as_str())].into_iter().chain(of_call).collect();
                self.histogram(name, &labels, reading);
            });
        }
        let agents = kernel.counts.agent_places.usage();
        let servers = kernel.counts.server_places.usage();
        let used = [("mgp_places_in_use", agents.0, servers.0), ("mgp_calls_waiting", agents.1, servers.1)];
        for (name, of_agents, of_servers) in used {
            self.family(name);
            self.sample(name, &[("of", "agents")], of_agents);
            self.sample(name, &[("of", "servers")], of_servers);
        }
    }

    /// Writes what belongs to no server: refusals, the record, the link to other kernels, and the process.
    fn kernel(&mut self, kernel: &Sections, http: &HttpConfig) {
        self.family("mgp_refusals_total");
        for ((section, rule), count) in kernel.counts.refusals.read() {
            self.sample("mgp_refusals_total", &[("section", section), ("rule", rule)], count);
        }
        self.one("mgp_failed_logins_total", kernel.counts.failed_logins.load(Relaxed));
        let waiting = kernel.policies.pending.list();
        self.one("mgp_approvals_waiting", waiting.len());
        let oldest = waiting.iter().map(|question| Timestamp::now().since(question.asked_at)).max();
        self.one("mgp_approvals_oldest_seconds", oldest.unwrap_or_default().as_secs());
        let log = &kernel.audit.log;
        self.one("mgp_audit_events_total", log.head().seq);
        self.one("mgp_audit_queue", log.queued());
        if let Some(lag) = kernel.audit.push_lag() {
            self.one("mgp_audit_push_waiting", lag.events);
            self.one("mgp_audit_push_lag_seconds", lag.seconds);
            self.one("mgp_audit_push_failures_total", lag.failures);
        }
        self.cluster(kernel);
        self.certificates(kernel);
        self.one("mgp_tools", kernel.tools.index.snapshot().len());
        self.one("mgp_http_sessions", http.open_sessions());
        self.one("mgp_http_streams", http.open_streams());
        if let Some(DiskSpace { free, total }) = DiskSpace::of(kernel.config.state()) {
            self.one("mgp_state_disk_free_bytes", free);
            self.one("mgp_state_disk_bytes", total);
        }
        self.one("mgp_telemetry_dropped_total", telemetry::not_exported());
        self.one("mgp_log_lines_left_out_total", telemetry::lines_left_out());
        if let Some(bytes) = resident_memory(std::process::id()) {
            self.one("process_resident_memory_bytes", bytes);
        }
        if let Some(time) = cpu_time() {
            self.one("process_cpu_seconds_total", time.as_secs_f64());
        }
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        self.one("process_open_fds", files);
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let since = now.saturating_sub(kernel.lifecycle.life.uptime()).as_secs();
        self.one("process_start_time_seconds", since);
        self.family("mgp_build_info");
        self.sample("mgp_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    }

    /// Writes what belongs to the link to other kernels. A kernel that decides alone has only the names of these metrics.
    fn cluster(&mut self, kernel: &Sections) {
        let names = ["mgp_store_lag_seconds", "mgp_cluster_kernels", "mgp_server_leases"];
        let mut values = [None, None, None];
        if let Some(link) = &kernel.link {
            let in_seconds = |lag| Duration::from_millis(lag).as_secs_f64().to_string();
            let lag = link.freshness.status().lag_ms.map_or_else(|| "+Inf".to_owned(), in_seconds);
            let leases = link.peers.as_ref().map(|peers| peers.leases.own().to_string());
            values = [Some(lag), Some(link.kernels_seen().to_string()), leases];
        }
        for (name, value) in names.into_iter().zip(values) {
            self.family(name);
            if let Some(value) = value {
                self.sample(name, &[], value);
            }
        }
    }

    fn certificates(&mut self, kernel: &Sections) {
        let config = kernel.config.load();
        let (listen, peers) = (config.listen.tls.as_ref(), kernel.peers().map(|peers| &peers.tls));
        let name = "mgp_certificate_expiry_timestamp_seconds";
        self.family(name);
        for (section, tls) in [("listen.tls", listen), ("cluster", peers)] {
            if let Some(end) = tls.and_then(|tls| certificate_end(&std::fs::read(&tls.certificate).ok()?)) {
                self.sample(name, &[("section", section)], end.as_millis() / 1000);
            }
        }
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
    fn one(&mut self, name: &str, value: impl Display) {
        self.family(name);
        self.sample(name, &[], value);
    }

    /// Writes the kind of a metric, and what it counts.
    fn family(&mut self, name: &str) {
        let described = |row: &'static str| row.strip_prefix(name)?.strip_prefix(' ')?.split_once(' ');
        if let Some((kind, help)) = METRICS.lines().find_map(described) {
            self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
        }
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

/// Returns the time for which this process used processors; `None` if the system does not show it.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may hold anything. The eleven fields behind it come before the two times.
    let fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<_, _>>().ok()?;
    Some(TICK * u32::try_from(ticks).ok()?)
}

/// The unit in which Linux tells times of processes.
const TICK: Duration = Duration::from_millis(10);

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}

/// The metrics: on each line the name of one, its kind, and what it counts.
const METRICS: &str = include_str!("metrics.txt");
