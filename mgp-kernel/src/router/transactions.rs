//! Requests about transactions: each transaction is with one server.

use std::sync::Arc;

use mgp_types::ext::{ExtensionId, ExtensionIds};
use mgp_types::{Error, Request, code};

use super::forward::{RouterFuture, to_server};
use super::missing::near;
use super::others::{SERVER_META, forget_name, name};
use super::{CallerView, Visibility};
use crate::call::effects::unsupported;
use crate::running::RunningConfig;
use crate::servers::upstream::Upstream;

/// Sends a request about a transaction to the server that the request names, or to the only one that has transactions.
pub(super) fn call(visibility: &Visibility, config: &RunningConfig, mut request: Request) -> RouterFuture {
    match server(visibility, config, &request) {
        Ok(upstream) => {
            forget_name(&mut request);
            to_server(&visibility.fleet, upstream.id(), request)
        }
        Err(error) => RouterFuture::done(Err(error)),
    }
}

fn server(
    visibility: &Visibility,
    config: &RunningConfig,
    request: &Request,
) -> Result<Arc<Upstream>, Error> {
    if !config.load().effects.enabled {
        let message =
            "the kernel passes no transactions; `enabled` in [effects] of mgp.toml switches them on"
                .to_owned();
        return Err(unsupported(code::METHOD_NOT_FOUND, message));
    }
    let view = CallerView::of(visibility, &request.context)?;
    if let Some(named) = name(request) {
        let servers: Vec<_> = view.servers().collect();
        // Whether it has transactions is known when it is connected, for which the request waits.
        let found = servers.iter().find(|upstream| upstream.id().as_str() == named);
        return found.map(Arc::clone).ok_or_else(|| {
            let near = near(&named, servers.iter().map(|upstream| upstream.id().as_str()));
            let like = if near.is_empty() {
                String::new()
            } else {
                format!("; did you mean `{}`?", near.join("`, `"))
            };
            Error::invalid_params(format!("there is no server `{named}`{like}"))
        });
    }
    let has_transactions = |upstream: &Arc<Upstream>| {
        let declared = ExtensionIds::read(&upstream.capabilities(view.principal()));
        declared.has(ExtensionId::Transactions)
    };
    let mut servers: Vec<_> = view.servers().filter(has_transactions).collect();
    match (servers.pop(), servers.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => {
            let message =
                "none of the connected servers has transactions; make the calls without one, and take \
                           them back yourself"
                    .to_owned();
            Err(unsupported(code::METHOD_NOT_FOUND, message))
        }
        (Some(last), false) => {
            let ids: Vec<_> = servers.iter().chain([&last]).map(|upstream| upstream.id().as_str()).collect();
            Err(Error::invalid_params(format!(
                "several servers have transactions: name one of `{}` in `_meta` as `{SERVER_META}`",
                ids.join("`, `")
            )))
        }
    }
}
