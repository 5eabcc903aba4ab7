//! How long a call of 1 KiB is held up by its checks: `cargo bench -p mgp-security --all-features --bench validate`.
//!
//! The call has a command, a path, a URL, a statement of SQL, a line of code and a text, fits a schema, and asks for the
//! four validators that check anything. What is measured is the whole of the layer, from the request to the inner service.

#![expect(clippy::disallowed_types, reason = "what is measured is real time, and nothing waits")]

use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mgp_security::tool::{ToolRules, effective};
use mgp_security::validator::{ValidateGate, Validators};
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName, TrustLevel, ValidatorName};
use mgp_types::{Error, Gate, Method, Object, Request, Response};
use tower_service::Service;

#[derive(Clone)]
struct Server;

impl Service<Request> for Server {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Ok(Response::empty()))
    }
}

const DEFINITION: &str = r#"{"name":"get_report","description":"Makes a report from the database","inputSchema":{
    "type":"object","required":["command","path"],"properties":{
    "command":{"type":"string"},"path":{"type":"string"},"url":{"type":"string","format":"uri"},
    "sql":{"type":"string"},"code":{"type":"string"},"notes":{"type":"string"},"limit":{"type":"integer","maximum":100}}},
    "security":{"risk_level":"safe","code_safety":{"level":"strict","language":"python"}}}"#;

fn request() -> Request {
    let notes = "The report lists what changed since the last release, and who has to look at it. ";
    let arguments = format!(
        r#"{{"command":"git log --oneline --since='2 weeks ago' -- src | head -n 20","path":"reports/2026/november.md",
        "url":"https://example.com/api/v2/reports?project=mgp&format=json","limit":20,
        "sql":"SELECT author, count(*) FROM commits WHERE day > '2026-11-01' GROUP BY author ORDER BY 2 DESC",
        "code":"rows = sorted(rows, key=lambda row: row[1])","notes":"{}"}}"#,
        notes.repeat(8)
    );
    let params = format!(r#"{{"name":"get_report","arguments":{arguments}}}"#);
    let definition = Object::parse(DEFINITION).expect("it is JSON");
    let validators = vec![
        ValidatorName::Sandbox,
        ValidatorName::Readonly,
        ValidatorName::NetworkRestricted,
        ValidatorName::CodeSafety,
    ];
    let rules = ToolRules { validators, ..ToolRules::new(TrustLevel::Trusted) };
    let security = effective(&definition, &rules);
    let mut request = Request::call(Method::TOOLS_CALL, Object::parse(params).expect("it is JSON"));
    let name = ToolName::new("get_report");
    request.context.tool = Some(ResolvedTool::new(ServerId::new("reports"), name, definition, security));
    request
}

fn main() {
    let mut service = ValidateGate::new(Validators::standard()).layer(Server);
    let request = request();
    let bytes = request.params.to_raw().as_bytes().len();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let request = request.clone();
            let start = Instant::now();
            let answer = service.call(request).now_or_never().expect("it waits for nothing");
            let time = start.elapsed();
            answer.expect("the call is harmless");
            time
        })
        .skip(ROUNDS / 10)
        .collect();
    times.sort_unstable();
    let at = |per_mille: usize| times[times.len() * per_mille / 1000];
    eprintln!("a call of {bytes} bytes: p50 {:?}, p99 {:?}, of {} calls", at(500), at(990), times.len());
    assert!(at(990) <= TARGET, "p99 is over {TARGET:?}");
}

const ROUNDS: usize = 20_000;

const TARGET: Duration = Duration::from_micros(60);
