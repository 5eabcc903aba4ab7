use std::sync::Arc;

use mgp_types::mgp::written;
use mgp_types::{Error, Kind, RawJson, Request, Response, Revision};

use super::asked::{Asked, Operation};
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
    let revision = request.context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
    asked.form.answer(outcome, revision)
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
