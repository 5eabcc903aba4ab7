//! Servers that a supervisor keeps alive.

use mgp_lifecycle::supervise::{
    Connect, ConnectedServer, ProbeMethod, ProbeResult, ProbeSettings, StandingRequests,
    StandingRequestsService, Supervisor, ask_to_stop, probe,
};
use mgp_types::mgp::{Extension, ServerId};
use mgp_types::{Error, Gate, Method, Object, RpcService};

use crate::Client;
use crate::pages::MAX_PAGES;

impl Client<()> {
    /// Keeps `server` alive: calls `connect` to connect to it, and again when the server has ended or does not answer
    /// any more.
    ///
    /// The supervisor pings the server every few seconds, in the best way that the server understands. It notices within
    /// 15 seconds that a server behind a URL stopped answering. Before it closes a server, it asks the server to stop, if
    /// the server knows how. It lists the tools of the server before the server takes calls, so
    /// that they can be found as soon as it is connected; lasting wishes of the session before, like the resources
    /// whose changes matter, are repeated. Further steps go into [`Supervisor::with_restore`].
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use mgp_client_sdk::Client;
    ///
    /// # async fn run() -> Result<(), mgp_types::Error> {
    /// let files = Client::supervise("files", || Client::builder("my-app", "1.0.0").connect_stdio("file-server", ["/tmp"]));
    /// let files = files.spawn();
    /// files.start();
    /// let tools = files.ready(Duration::from_secs(20)).await?.list_tools().await?;
    /// # drop(tools);
    /// # Ok(())
    /// # }
    /// ```
    pub fn supervise<S, M, F>(
        server: impl Into<ServerId>,
        connect: M,
    ) -> Supervisor<impl Connect<Service = Client<StandingRequestsService<S>>>>
    where
        S: RpcService + Sync,
        M: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<Client<S>, Error>> + Send + 'static,
    {
        let standing = StandingRequests::new();
        let noting = standing.clone();
        let connect = move || {
            let (connecting, noting) = (connect(), noting.clone());
            async move { connecting.await.map(|client| connected(client, &noting)) }
        };
        Supervisor::new(server.into(), connect)
            .with_restore(move |client| remind(client, standing.clone()))
            .with_restore(republish)
            .with_stop(|client: Client<StandingRequestsService<S>>, shutdown| async move {
                let Some(session) = client.session() else { return Ok(()) };
                if session.has(&Extension::Lifecycle) {
                    ask_to_stop(client.stack.clone(), shutdown).await?;
                }
                Ok(())
            })
            .with_probe(ProbeSettings::remote(), |client: Client<StandingRequestsService<S>>| async move {
                match client.session() {
                    Some(session) => probe(client.stack.clone(), ProbeMethod::for_session(&session)).await,
                    None => ProbeResult::NotAsked,
                }
            })
    }
}

/// Returns the connection behind a client. The connection ends when the supervisor drops this value, even if clones of
/// the client are left.
fn connected<S: RpcService + Sync>(
    client: Client<S>,
    standing: &StandingRequests,
) -> ConnectedServer<Client<StandingRequestsService<S>>> {
    let client = Client { stack: standing.layer(client.stack), shared: client.shared };
    let mut link = client.shared.link.lock().take().unwrap_or_default();
    let ended = link.take_ended();
    ConnectedServer::new(client, ended).with_close(|| async {
        if let Err(error) = link.close().await {
            tracing::debug!(%error, "a server was not closed gently");
        }
    })
}

async fn remind<S: RpcService>(
    client: Client<StandingRequestsService<S>>,
    standing: StandingRequests,
) -> Result<(), Error> {
    match client.session() {
        Some(session) => standing.restore(client.stack.get_ref().clone(), session).await,
        None => Ok(()),
    }
}

/// Lists the tools, for the layers that learn from the list. The definitions are not read: a wrong one is no reason to be
/// without the server.
async fn republish<S: RpcService>(client: Client<S>) -> Result<(), Error> {
    if !client.capabilities().contains("tools") {
        return Ok(());
    }
    let mut params = Object::new();
    for _ in 0..MAX_PAGES {
        let page = client.request(Method::TOOLS_LIST, params.clone()).await?;
        let cursor = Object::from_raw(&page).ok().and_then(|page| page.get("nextCursor"));
        match cursor.filter(|cursor| !cursor.is_null()) {
            Some(cursor) => params.set("cursor", cursor),
            None => break,
        }
    }
    Ok(())
}
