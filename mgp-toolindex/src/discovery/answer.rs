use std::sync::Arc;

use mgp_types::mcp::{CallToolResult, ForRevision};
use mgp_types::{Error, Kind, RawJson, Request, Response, Revision, code};
use serde::Serialize;

use super::asked::{Asked, Form, Operation};
use super::discover::discover;
use super::params;
use super::request::request as request_tools;
use super::shared::Shared;

/// What the layer says itself.
pub(super) async fn answer(shared: Arc<Shared>, asked: Asked, request: Request) -> Result<Response, Error> {
    if request.kind == Kind::Notify {
        return Err(Error::invalid_request("tools are searched by calls, not by notifications"));
    }
    let outcome = result(&shared, asked, &request).await;
    if asked.form == Form::Method {
        return outcome.map(Response::plain);
    }
    let result = match outcome {
        Ok(result) => CallToolResult::structured(&result).map_err(unwritable)?,
        // A model that gave wrong arguments reads results, and hardly ever errors.
        Err(error) if error.code() == code::INVALID_PARAMS => CallToolResult::error(error.message()),
        Err(error) => return Err(error),
    };
    let revision = request.context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
    Response::with_body(&result.for_revision(revision))
}

async fn result(shared: &Arc<Shared>, asked: Asked, request: &Request) -> Result<RawJson, Error> {
    let params = asked.params(request)?;
    let context = &request.context;
    match asked.operation {
        Operation::Discover => {
            let discovered = discover(shared, context, &params).await?;
            // What was found may have pushed tools out of the list.
            shared.tellings.changed(shared, &shared.key(context));
            written(&discovered)
        }
        Operation::Request => written(&request_tools(shared, context, &params).await?),
        Operation::Session => {
            let key = shared.key(context);
            written(&shared.with_view(context, |view| shared.sessions.state(&key, view)))
        }
        Operation::Evict => {
            let evict = params::evict(&params)?;
            let key = shared.key(context);
            let evicted = shared.with_view(context, |view| shared.sessions.evict(&key, view, &evict));
            shared.tellings.changed(shared, &key);
            written(&evicted)
        }
    }
}

fn written<T: Serialize>(value: &T) -> Result<RawJson, Error> {
    RawJson::from_value(value).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::internal("the result is not JSON").with_source(error)
}
