use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioTimer;
use mgp_types::Error;

use super::connect::Connector;
use super::origin::{resolve, same_origin};
use super::tasks::Tasks;

/// Carries HTTP requests to one server over pooled connections.
#[derive(Debug)]
pub(super) struct Link {
    client: Client<Connector, Full<Bytes>>,
}

impl Link {
    pub(super) fn new(connector: Connector, tasks: Arc<Tasks>) -> Self {
        let client = Client::builder(Spawn(tasks))
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .build(connector);
        Self { client }
    }

    /// Sends a request and waits for the head of its answer. `head` is asked for once per hop.
    ///
    /// Redirects are followed where they keep method and origin, so that neither body, credentials nor
    /// session ever go to somebody else.
    pub(super) async fn send(
        &self,
        method: &Method,
        url: &Uri,
        body: Bytes,
        head: impl Fn() -> Result<HeaderMap, Error>,
    ) -> Result<Response<Incoming>, Error> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.clone();
            *request.headers_mut() = head()?;
            let response = self.client.request(request).await.map_err(broken)?;
            match response.status() {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {}
                _ => return Ok(response),
            }
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            match target.and_then(|target| resolve(&url, target)) {
                Some(target) if same_origin(&url, &target) => url = target,
                Some(_) => return Err(Error::misbehaved("the server redirects to another origin")),
                None => return Err(Error::misbehaved("the server redirects to nowhere")),
            }
        }
        Err(Error::misbehaved("the server redirects too often"))
    }
}

fn broken(error: hyper_util::client::legacy::Error) -> Error {
    let message = if error.is_connect() {
        "the server cannot be reached"
    } else {
        "the connection broke before the answer came"
    };
    Error::disconnected(message).with_source(error)
}

/// Runs the connections as tasks of the client they belong to.
#[derive(Debug, Clone)]
struct Spawn(Arc<Tasks>);

impl hyper::rt::Executor<Pin<Box<dyn Future<Output = ()> + Send>>> for Spawn {
    fn execute(&self, connection: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.0.spawn(connection);
    }
}

const MAX_REDIRECTS: usize = 3;
const MAX_IDLE_CONNECTIONS: usize = 32;
/// Shorter than the five seconds after which common servers close, so that no request is sent into a
/// connection that is just being closed: whether such a request was read cannot be known.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
