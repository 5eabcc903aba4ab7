//! Measures what the keys of calls cost: the memory of 10,000 keys that hold, and the time of a call that comes again. Each
//! line begins with its figure. `cargo xtask bench --only idempotency` holds them to their targets.
//!
//! ```sh
//! cargo run -p mgp-lifecycle --features ext --example idempotency_memory
//! ```
#![allow(clippy::print_stdout, reason = "the figures are what the example is for")]

use std::fs;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use mgp_lifecycle::idempotency::{IdempotencyBook, IdempotencyLayer};
use mgp_types::{Error, Object, Principal, RawJson, Request, Response};
use tokio::time::Instant;
use tower_layer::Layer as _;
use tower_service::Service;

/// The keys that one caller may have.
const KEYS: u32 = 10_000;

/// A tool whose result has half a kibibyte.
#[derive(Debug, Clone)]
struct Tool(RawJson);

impl Service<Request> for Tool {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Ok(Response::new(self.0.clone())))
    }
}

fn pay(number: u32) -> Result<Request, Error> {
    let params = format!(
        r#"{{"name":"pay","arguments":{{"euro":{number}}},"_meta":{{"idempotency_key":"order-{number:08}"}}}}"#
    );
    let mut request = Request::call("tools/call", Object::parse(params)?);
    request.context.principal = Some(Principal::new("ada"));
    Ok(request)
}

/// Returns the memory of this process that is in use, in KiB; 0 where the system does not tell.
fn resident_kib() -> u32 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u32>().ok()).unwrap_or(0) * 4
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = RawJson::parse(format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(460)))?;
    let mut server = IdempotencyLayer::new(IdempotencyBook::in_memory()).layer(Tool(text));
    let before = resident_kib();
    for number in 0..KEYS {
        server.call(pay(number)?).await?;
    }
    let kept = f64::from(resident_kib().saturating_sub(before)) * 1024.0 / 1e6;
    println!("{kept:.1} MB for {KEYS} keys with results of 512 bytes");

    let requests = (0..KEYS).map(pay).collect::<Result<Vec<_>, _>>()?;
    let began = Instant::now();
    for request in requests {
        server.call(request).await?;
    }
    let micros = began.elapsed().as_secs_f64() * 1e6 / f64::from(KEYS);
    println!("{micros:.2} µs for a call that comes again, its digest and its result included");
    Ok(())
}
