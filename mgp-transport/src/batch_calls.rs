//! Many calls of tools in one request: `mgp/tools/batch`.

use mgp_types::json::ObjectWriter;
use mgp_types::{
    BoxFuture, Error, Method, Object, RawJson, Request, RequestKind, Response, RpcService, Session, call_once,
};
use tower_service::Service;

use crate::CatchPanic;
use crate::era::explain;

/// Makes `mgp/tools/batch` of any service that calls tools: `{"calls": [{"name", "arguments", "_meta"}],
/// "stop_on_error": false}` returns `{"results": [...]}`, with a result or `{"error": {...}}` for each call, in order.
///
/// Each call goes through everything behind the layer by itself, as if it had come alone, so the layer sits behind the era
/// and outside of all else: gates, limits and records see calls, and never a batch. The calls run one after the other.
/// One that fails or panics does not keep the others from running, unless the batch says `stop_on_error`; the results then
/// end with its own. A batch has at most 50 calls. All other requests pass untouched, and cost an allocation.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct BatchCallsLayer;

/// The service of [`BatchCallsLayer`].
#[derive(Debug, Clone)]
pub struct BatchCalls<S> {
    inner: S,
}

const METHOD: &str = "mgp/tools/batch";
const MAX_CALLS: usize = 50;

impl BatchCallsLayer {
    /// Creates the layer.
    pub const fn new() -> Self {
        Self
    }
}

mgp_types::layer!(BatchCallsLayer, self, inner => BatchCalls { inner });

impl<S: RpcService<Future: 'static>> Service<Request> for BatchCalls<S> {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        if request.kind != RequestKind::Call || request.method.as_str() != METHOD {
            return Box::pin(self.inner.call(request));
        }
        // A clone is not ready; each call of the batch waits until it is.
        let service = CatchPanic::new(self.inner.clone());
        Box::pin(async move { run(service, &request).await })
    }
}

async fn run<S: RpcService>(mut service: S, batch: &Request) -> Result<Response, Error> {
    let session = batch.context.session()?;
    let calls: Option<Vec<RawJson>> = batch.params.get("calls").and_then(|calls| calls.to().ok());
    let calls = calls.ok_or_else(|| Error::invalid_params("`calls` must be a list of calls"))?;
    if calls.len() > MAX_CALLS {
        let reason = format!("a batch has up to {MAX_CALLS} calls: send the rest in another one");
        return Err(Error::invalid_params(reason));
    }
    let stop_on_error = match batch.params.bytes("stop_on_error") {
        None | Some(b"false" | b"null") => false,
        Some(b"true") => true,
        Some(_) => return Err(Error::invalid_params("`stop_on_error` must be true or false")),
    };
    let mut results = Vec::with_capacity(calls.len());
    for call in &calls {
        let outcome = match Object::from_raw(call) {
            Ok(params) => {
                let mut request = Request::call(Method::TOOLS_CALL, params);
                request.context.clone_from(&batch.context);
                request.extensions = batch.extensions.clone();
                call_once(&mut service, request).await
            }
            Err(_) => Err(Error::invalid_params("a call must be an object with a `name`")),
        };
        let is_failure = outcome.as_ref().map_or(true, is_error);
        results.push(match outcome {
            Ok(response) => response.to_raw(),
            Err(error) => written(error, session),
        });
        if is_failure && stop_on_error {
            break;
        }
    }
    let mut out = ObjectWriter::new();
    out.value("results", &results);
    Ok(Response::plain(out.finish().to_raw()))
}

fn is_error(response: &Response) -> bool {
    Object::from_raw(&response.to_raw()).is_ok_and(|result| result.bytes("isError") == Some(b"true"))
}

/// Returns the error of one call as the peer gets errors of calls that come alone.
fn written(error: Error, session: &Session) -> RawJson {
    let error = explain(error, session, None);
    let mut members = ObjectWriter::new();
    members.value("code", &error.code());
    members.text("message", error.message());
    if let Some(data) = error.wire_data() {
        members.json("data", &data);
    }
    let mut out = ObjectWriter::new();
    out.json("error", &members.finish().to_raw());
    out.finish().to_raw()
}
