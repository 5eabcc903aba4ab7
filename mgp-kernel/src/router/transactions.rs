//! Requests about transactions: each transaction is with one server.

use std::sync::Arc;

use mgp_types::ext::{ExtensionId, ExtensionIds};
use mgp_types::{Error, Request, code};

use super::Routes;
use super::forward::RouterFuture;
use super::missing::named_server;
use super::others::{SERVER_META, forget_name, name};
use crate::call::effects::unsupported;
use crate::servers::upstream::Upstream;
use crate::visibility::CallerView;

impl Routes {
    /// Sends a request about a transaction to the server that the request names, or to the only one that has transactions.
    pub(super) fn transaction(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let upstream = self.server_of_transaction(&request)?;
        forget_name(&mut request);
        self.to_server(upstream.id(), request)
    }

    fn server_of_transaction(&self, request: &Request) -> Result<Arc<Upstream>, Error> {
        let unsupported = |message: &str| unsupported(code::METHOD_NOT_FOUND, message.to_owned());
        if !self.config.load().effects.enabled {
            return Err(unsupported(
                "the kernel passes no transactions; `enabled` in [effects] of mgp.toml switches them on",
            ));
        }
        let view = CallerView::of(&self.visibility, &request.context)?;
        if let Some(named) = name(request) {
            // Whether it has transactions is known when it is connected, for which the request waits.
            return named_server(&view.servers().collect::<Vec<_>>(), &named);
        }
        let has_transactions = |upstream: &Arc<Upstream>| {
            let declared = ExtensionIds::read(&upstream.capabilities(view.principal()));
            declared.has(ExtensionId::Transactions)
        };
        let servers: Vec<_> = view.servers().filter(has_transactions).collect();
        match &servers[..] {
            [only] => Ok(Arc::clone(only)),
            [] => Err(unsupported(
                "none of the connected servers has transactions; make the calls without one, and take them back yourself",
            )),
            several => {
                let ids: Vec<_> = several.iter().map(|upstream| upstream.id().as_str()).collect();
                Err(Error::invalid_params(format!(
                    "several servers have transactions: name one of `{}` in `_meta` as `{SERVER_META}`",
                    ids.join("`, `")
                )))
            }
        }
    }
}
