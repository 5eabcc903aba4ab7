//! A client of ours, connected to a server of rmcp.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mgp_client_sdk::{Client, ClientBuilder};
use mgp_transport::era::EraMode;
use mgp_types::Error;
use parking_lot::Mutex;
use rmcp::ServiceExt;
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::server::Theirs;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Via {
    Stream,
    Http,
    /// A server that keeps no sessions and answers in JSON where it can.
    HttpJson,
}

/// The ways every test runs unless its name says otherwise.
pub(crate) const WAYS: [(EraMode, Via); 6] = [
    (EraMode::Auto, Via::Stream),
    (EraMode::Session, Via::Stream),
    (EraMode::Stateless, Via::Stream),
    (EraMode::Auto, Via::Http),
    (EraMode::Session, Via::Http),
    (EraMode::Stateless, Via::Http),
];

/// A client of ours that is connected to a server of rmcp.
pub(crate) struct Pair {
    pub(crate) client: Client,
    pub(crate) events: mpsc::UnboundedReceiver<&'static str>,
    /// Lets the tool that is held go on.
    pub(crate) release: Arc<Notify>,
    /// The server's sessions over HTTP.
    pub(crate) sessions: Arc<LocalSessionManager>,
    /// The connections of HTTP.
    connections: Connections,
}

type Connections = Arc<Mutex<JoinSet<()>>>;

impl Pair {
    pub(crate) async fn connect(way: (EraMode, Via)) -> Self {
        Self::connect_as(way, builder(), ProtocolVersion::KNOWN_VERSIONS).await.unwrap()
    }

    /// Connects a client to a server that knows these revisions.
    pub(crate) async fn connect_as(
        (mode, via): (EraMode, Via),
        builder: ClientBuilder,
        revisions: &'static [ProtocolVersion],
    ) -> Result<Self, Error> {
        let (tell, events) = mpsc::unbounded_channel();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.sse_retry = Some(Duration::ZERO);
        let (release, sessions) = (Arc::<Notify>::default(), Arc::new(sessions));
        let connections = Connections::default();
        let theirs =
            Theirs { revisions, events: tell.clone(), changed: Arc::default(), release: release.clone() };
        let builder = builder.era(mode);
        let client = match via {
            Via::Stream => {
                let (near, far) = tokio::io::duplex(1 << 16);
                tokio::spawn(async move {
                    // A client of the wrong era goes away before anything is served.
                    if let Ok(serving) = theirs.serve(far).await {
                        serving.waiting().await.unwrap();
                        // Nobody may be left to tell.
                        let _ = tell.send("closed");
                    }
                });
                let (reader, writer) = tokio::io::split(near);
                within(builder.connect_io(reader, writer)).await?.boxed()
            }
            Via::Http | Via::HttpJson => {
                let in_session = via == Via::Http;
                let config = StreamableHttpServerConfig::default()
                    .with_sse_retry(Some(Duration::ZERO))
                    .with_legacy_session_mode(in_session)
                    .with_json_response(!in_session);
                let service =
                    StreamableHttpService::new(move || Ok(theirs.clone()), sessions.clone(), config);
                let opened = connections.clone();
                let dial = move |_| {
                    let (service, opened, tell) = (service.clone(), opened.clone(), tell.clone());
                    async move {
                        let (near, far) = tokio::io::duplex(1 << 16);
                        let answer = service_fn(move |request: hyper::Request<Incoming>| {
                            let (service, tell) = (service.clone(), tell.clone());
                            async move {
                                let resumes = request.headers().contains_key("last-event-id");
                                let response = service.handle(request).await;
                                if resumes {
                                    tell.send("resumed").unwrap();
                                }
                                Ok::<_, Infallible>(response)
                            }
                        });
                        opened.lock().spawn(async move {
                            // Ends as it likes: a client may close its connection at any time.
                            let _ = http1::Builder::new().serve_connection(TokioIo::new(far), answer).await;
                        });
                        Ok(near)
                    }
                };
                let connecting =
                    builder.connect_http_with("http://localhost/mcp", |http| http.dial_with(dial.clone()));
                within(connecting).await?.boxed()
            }
        };
        Ok(Self { client, events, release, sessions, connections })
    }

    /// Breaks every connection of HTTP.
    pub(crate) fn cut(&self) {
        assert!(!self.connections.lock().is_empty());
        self.connections.lock().abort_all();
    }

    pub(crate) async fn text(&self, tool: &str, arguments: serde_json::Value) -> String {
        let result = within(self.client.call_tool(tool, arguments)).await.unwrap();
        result.content[0].as_text().unwrap().to_owned()
    }
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("ours", "1")
}

/// Guards against waiting for ever.
pub(crate) async fn within<F: IntoFuture>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(20), future.into_future()).await.expect("it ends in time")
}

pub(crate) async fn next<T>(received: &mut mpsc::UnboundedReceiver<T>) -> T {
    within(received.recv()).await.unwrap()
}
