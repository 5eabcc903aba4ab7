//! A scripted server for the tests.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mcp::Implementation;
use mgp_types::{BoxFuture, Error, Method, Object, Origin, RawJson, Request, RequestKind, Response};
use parking_lot::Mutex;
use tower_service::Service;

use crate::era::{ClientEra, ClientIdentity, EraOptions, WireKind};

/// A wire whose server answers as a function decides.
#[derive(Clone)]
pub(crate) struct Script(Arc<Inner>);

struct Inner {
    answer: Mutex<Box<Answering>>,
    seen: Mutex<Vec<Request>>,
}

type Answering = dyn FnMut(&Request) -> Reply + Send;

/// The server's answer to a request.
pub(crate) enum Reply {
    Result(&'static str),
    Error(Error),
    Silence,
}

impl Script {
    pub(crate) fn new(answer: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self(Arc::new(Inner { answer: Mutex::new(Box::new(answer)), seen: Mutex::default() }))
    }

    /// Returns the methods that were sent so far.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.0.seen.lock().iter().map(|request| request.method.to_string()).collect()
    }

    pub(crate) fn request(&self, index: usize) -> Request {
        self.0.seen.lock()[index].clone()
    }

    /// Returns the request that was sent last.
    pub(crate) fn last(&self) -> Request {
        self.request(self.methods().len() - 1)
    }

    pub(crate) async fn negotiate(&self, options: EraOptions) -> Result<ClientEra<Self>, Error> {
        ClientEra::negotiate(self.clone(), identity(), options).await
    }

    pub(crate) async fn connect(&self) -> Result<ClientEra<Self>, Error> {
        self.negotiate(EraOptions::default()).await
    }

    pub(crate) async fn connect_http(&self) -> Result<ClientEra<Self>, Error> {
        self.negotiate(EraOptions { kind: http_kind(), ..EraOptions::default() }).await
    }
}

impl Service<Request> for Script {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let reply = (self.0.answer.lock())(&request);
        let notify = request.kind == RequestKind::Notify;
        self.0.seen.lock().push(request);
        Box::pin(async move {
            match reply {
                _ if notify => Ok(Response::empty()),
                Reply::Result(json) => Ok(Response::new(RawJson::parse(json).unwrap())),
                Reply::Error(error) => Err(error),
                Reply::Silence => std::future::pending().await,
            }
        })
    }
}

pub(crate) fn identity() -> ClientIdentity {
    ClientIdentity::new(Implementation::new("tester", "1.0.0"))
}

/// Returns an error of the server.
pub(crate) fn refuse(code: i64) -> Reply {
    Reply::Error(Error::from_origin(Origin::Peer, code, "no"))
}

/// Returns the error of a server that does not serve the version.
pub(crate) fn unsupported(code: i64, supported: &str) -> Reply {
    let data = format!(r#"{{"supported":{supported},"requested":"x"}}"#);
    let error = Error::from_origin(Origin::Peer, code, "Unsupported protocol version");
    Reply::Error(error.with_data(RawJson::parse(data).unwrap()))
}

pub(crate) const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],
    "capabilities":{"tools":{}},"instructions":"be kind",
    "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#;

pub(crate) const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},
    "serverInfo":{"name":"s","version":"1"},"instructions":"be kind"}"#;

/// Answers as a server with sessions only.
pub(crate) fn session_server(request: &Request) -> Reply {
    match request.method.as_str() {
        "initialize" => Reply::Result(INITIALIZED),
        "server/discover" => refuse(-32601),
        _ => Reply::Result("{}"),
    }
}

/// Answers as a server without sessions.
pub(crate) fn stateless_server(request: &Request) -> Reply {
    match request.method.as_str() {
        "server/discover" => Reply::Result(DISCOVERED),
        "initialize" => other_version(),
        _ => Reply::Result("{}"),
    }
}

/// Returns a server that refuses the first lists of tools, and answers like `server` then.
pub(crate) fn refusing_lists(
    mut times: u32,
    refusal: fn() -> Reply,
    server: fn(&Request) -> Reply,
) -> Script {
    Script::new(move |request| {
        if request.method == Method::TOOLS_LIST && times > 0 {
            times -= 1;
            return refusal();
        }
        server(request)
    })
}

/// Refuses the version of a request, and names the one that is served.
pub(crate) fn other_version() -> Reply {
    unsupported(-32022, r#"["2026-07-28"]"#)
}

pub(crate) fn meta(request: &Request) -> Object {
    Object::from_raw(&request.params.get("_meta").unwrap()).unwrap()
}

pub(crate) fn call(method: Method) -> Request {
    Request::call(method, Object::new())
}

#[derive(Debug, thiserror::Error)]
#[error("status {0}")]
pub(crate) struct Status(pub(crate) u16);

#[derive(Debug, thiserror::Error)]
#[error("lost")]
pub(crate) struct Lost;

pub(crate) fn lost() -> Reply {
    Reply::Error(Error::disconnected("the session is lost").with_source(Lost))
}

pub(crate) fn http_kind() -> WireKind {
    fn source<T: std::error::Error + 'static>(error: &Error) -> Option<&T> {
        std::error::Error::source(error)?.downcast_ref()
    }
    WireKind::Http {
        status: |error| source::<Status>(error).map(|status| status.0),
        session_lost: |error| source::<Lost>(error).is_some(),
    }
}
