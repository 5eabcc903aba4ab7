//! The calls that take steps back, made within the server.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_lifecycle::idempotency::{IdempotencyBook, IdempotencyLayer, IdempotencyService};
use mgp_lifecycle::transaction::{CompensationCall, Compensator};
use mgp_types::ext::{IdempotentCall, StructuredError};
use mgp_types::{
    BoxFuture, CallEnding, Error, Method, Object, RawJson, Request, Response, Revision, RpcService, Session,
    call_once, code,
};
use tower_layer::Layer as _;

/// Makes the calls through the layers further in, each with its key.
#[derive(Clone)]
pub(super) struct InnerCompensator<S> {
    service: IdempotencyService<S>,
    session: Arc<Session>,
}

impl<S> InnerCompensator<S> {
    pub(super) fn new(keys: &IdempotencyBook, inner: S) -> Self {
        let service = IdempotencyLayer::new(keys.clone()).layer(inner);
        Self { service, session: Arc::new(Session::new(Revision::LATEST)) }
    }
}

impl<S: RpcService + Sync> Compensator for InnerCompensator<S> {
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>> {
        let service = self.service.clone();
        let request = request(call, Arc::clone(&self.session));
        Box::pin(async move {
            let response = call_once(service, request).await?;
            match response.result.ending() {
                CallEnding::Done => Ok(()),
                CallEnding::Asking => Err(Error::new(
                    code::UPSTREAM_ERROR,
                    "the tool that takes the step back asks for input, which nobody can give",
                )),
                CallEnding::Failed => Err(failure(&response)),
            }
        })
    }
}

fn request(call: CompensationCall, session: Arc<Session>) -> Request {
    let mut meta = Object::new();
    IdempotentCall::new(call.key).write(&mut meta);
    let mut params = Object::new();
    params.set("name", RawJson::from_text(&call.compensation.tool));
    params.set("arguments", call.compensation.arguments.to_raw());
    params.set("_meta", meta.to_raw());
    let mut request = Request::call(Method::TOOLS_CALL, params);
    request.context.principal = Some(call.owner);
    request.context.session = Some(session);
    request
}

/// Returns the error that a failed result tells.
fn failure(response: &Response) -> Error {
    let result = Object::from_raw(&response.result).unwrap_or_default();
    let structured = result.object("_meta").and_then(|meta| StructuredError::read(&meta.get("error")?));
    let reason = structured.map(|error| String::from(error.message)).or_else(|| first_text(&result));
    let message = reason.unwrap_or_else(|| "the tool that takes the step back failed".to_owned());
    Error::new(code::UPSTREAM_ERROR, message)
}

fn first_text(result: &Object) -> Option<String> {
    let blocks: Vec<Object> = result.get("content")?.to().ok()?;
    let text = blocks.iter().find_map(|block| block.text("text").map(Cow::into_owned))?;
    Some(text.chars().take(MAX_CHARACTERS).collect())
}

/// The most characters of a failed result that are told.
const MAX_CHARACTERS: usize = 500;
