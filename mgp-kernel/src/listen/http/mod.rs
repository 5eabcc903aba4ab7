//! The kernel over HTTP: checks keys, and serves the paths for health and metrics beside the protocol's.

mod auth_member;
mod certificate;
mod doors;
mod exposition;
mod failed_logins;
mod foreign;
mod paths;
mod peer_user;
mod request_trace;
mod tokens;

use std::future::Future;
use std::io;
use std::sync::Arc;

use http::Extensions;
use mgp_security::auth::{AuthLayer, HttpAuthLayer};
use mgp_transport::http::{HttpConfig, serve_layered_until};
use mgp_types::{Principal, PrincipalKind, RunningCalls};
use tokio::net::TcpListener;
use tower_layer::Stack;

use self::auth_member::AuthMemberLayer;
use self::certificate::ListenCertificate;
pub(super) use self::certificate::check_certificate;
use self::doors::DoorsLayer;
use self::exposition::exposition;
use self::failed_logins::{ClientAddress, FailedLoginsLayer};
use self::foreign::SameUserLayer;
use self::paths::HttpPathsLayer;
use crate::sections::Sections;
use crate::{Kernel, settings};

impl Kernel {
    /// Serves clients over HTTP on `socket` until `stop` is done: `/mcp` in both eras, HTTP+SSE beside it, `/healthz`,
    /// `/readyz` and, if the configuration says so, `/metrics`.
    ///
    /// On the loopback address a client without a key has to run as the user of this process, or as root, where the
    /// system tells (Linux). At other addresses, or where the configuration demands it, nobody is let in without a key.
    /// A wrong key is refused everywhere, and what was opened with a key ends when it is revoked or expires.
    ///
    /// # Errors
    /// Fails if the socket cannot be used.
    pub async fn serve_http(
        &self,
        socket: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let Sections { config: running, policies, audit, data, tools, fleet, lifecycle, .. } =
            self.sections();
        let config = running.load_full();
        data.serve_at(socket.local_addr()?).map_err(io::Error::other)?;
        let required = config.listen.keys_required() || !socket.local_addr()?.ip().is_loopback();
        let ring = policies.keys.clone();
        let tokens = tokens::accepted(running)?;
        let guard = HttpAuthLayer::new(ring.clone());
        let guard = match &tokens {
            Some(tokens) => {
                policies.tokens.come_to(tokens.clone());
                guard.tokens(tokens.clone())
            }
            None => guard,
        };
        let (auth, guard) = if required {
            (AuthLayer::http(ring), guard)
        } else {
            let client = Principal::of(PrincipalKind::KeylessClient, settings::KEYLESS_AGENT);
            (AuthLayer::http_or(ring, client), guard.optional())
        };
        let mut http =
            settings::connections(&config, HttpConfig::default().limits(running.connection_limits()))
                .shutdown_grace(settings::drain(&config));
        for host in config.listen.hosts() {
            http = http.allow_host(host);
        }
        for origin in &config.listen.allowed_origins {
            http = http.allow_origin(origin.as_str());
        }
        let certificate = config.listen.tls.as_ref().map(ListenCertificate::read).transpose()?;
        if let Some(certificate) = &certificate {
            http = http.tls(certificate.tls());
        }
        http = http.mark_connections(move |ends| {
            let mut marks = if required { Extensions::new() } else { foreign::mark(ends) };
            marks.insert(ClientAddress::of(ends));
            Some(marks)
        });
        // The health paths are open to clients without a key, the metrics are not.
        let beside = Arc::new(http.clone());
        let (of, sessions) = (self.sections().clone(), beside.clone());
        let figures = move || {
            exposition(
                &of.fleet,
                &of.tools.index,
                &of.policies.pending,
                &of.audit.log,
                sessions.open_sessions(),
            )
        };
        let doors = DoorsLayer { config: running.clone(), catalog: tools.catalog.clone() };
        let layer = Stack::new(doors, HttpPathsLayer::metrics(beside.clone(), running.clone(), figures));
        let layer = Stack::new(layer, guard);
        let layer = Stack::new(layer, SameUserLayer);
        let layer = Stack::new(layer, FailedLoginsLayer::new(Arc::clone(audit)));
        let layer = Stack::new(layer, AuthMemberLayer { config: running.clone() });
        let (fleet, lifecycle) = (fleet.clone(), lifecycle.clone());
        let open = HttpPathsLayer::open(beside, fleet, lifecycle, tokens.clone(), data.clone());
        let layer = Stack::new(layer, open);
        let serving = serve_layered_until(socket, self.accept_remote(&auth), http, layer, stop);
        let ending = async {
            match &tokens {
                Some(tokens) => tokens.end_expired(|| RunningCalls::Cancel).await,
                None => std::future::pending().await,
            }
        };
        let watching = async {
            match certificate {
                Some(certificate) => certificate.watch().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            served = serving => served,
            never = watching => match never {},
            never = ending => match never {},
            never = policies.keys.watch(|| RunningCalls::Cancel) => match never {},
        }
    }
}
