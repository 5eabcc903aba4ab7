//! Calls with keys, made more than once.

mod bounds;
#[cfg(feature = "store")]
mod kills;
mod repeated;
#[cfg(feature = "store")]
mod shared;
#[cfg(feature = "store")]
mod stored;

use std::sync::Arc;

use mgp_types::ext::IdempotentResult;
use mgp_types::mgp::{EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{Error, Object, Principal, RawJson, Request, Response};
use tokio::sync::Notify;
use tower_layer::Layer as _;
use tower_service::Service as _;

use super::{IdempotencyBook, IdempotencyLayer, IdempotencyService};
use crate::doubles::Upstream;

/// Returns a call of the tool `pay` with this key and these arguments.
fn pay(key: &str, arguments: &str) -> Request {
    let params = format!(
        r#"{{"name":"pay","arguments":{arguments},"_meta":{{"idempotency_key":"{key}","idempotency_ttl_seconds":60}}}}"#
    );
    let mut request = Request::call("tools/call", Object::parse(params).unwrap());
    request.context.principal = Some(Principal::new("ada"));
    let security = EffectiveSecurity::new(RiskLevel::Moderate);
    request.context.tool = Some(ResolvedTool::new("bank".into(), "pay".into(), Object::new(), security));
    request
}

fn service(book: &IdempotencyBook, server: &Upstream) -> IdempotencyService<Upstream> {
    IdempotencyLayer::new(book.clone()).layer(server.clone())
}

/// Returns a server whose result has the number of the request.
fn counting() -> Upstream {
    Upstream::answering(|number| {
        Ok(Response::new(RawJson::parse(format!(r#"{{"content":[],"number":{number}}}"#)).unwrap()))
    })
}

/// Returns a server that answers once it is let go on.
fn gated() -> (Upstream, Arc<Notify>) {
    let open = Arc::new(Notify::new());
    let gate = Arc::clone(&open);
    let server = Upstream::working(move |number, _| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            Ok(Response::new(RawJson::parse(format!(r#"{{"number":{number}}}"#)).unwrap()))
        }
    });
    (server, open)
}

async fn call(service: &mut IdempotencyService<Upstream>, request: Request) -> Result<Response, Error> {
    std::future::poll_fn(|cx| service.poll_ready(cx)).await.unwrap();
    service.call(request).await
}

/// Returns what a result says about its key, and the result without that.
#[expect(clippy::needless_pass_by_value, reason = "the answer of a call, as it comes")]
fn split(response: Response) -> (IdempotentResult, RawJson) {
    let mut result = Object::from_raw(&response.result).unwrap();
    let key_result = IdempotentResult::read(&result.object("_meta").unwrap()).unwrap();
    result.remove("_meta");
    (key_result, result.to_raw())
}

/// Returns the reason in the details of a conflict.
fn reason(error: &Error) -> String {
    assert_eq!(error.code(), 4020, "{error}");
    let details = error.recovery().unwrap().details.unwrap();
    Object::from_raw(&details).unwrap().text("reason").unwrap().into_owned()
}
