//! Requests to one server over pooled connections, with redirects.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use mgp_types::Error;
use tokio::time::timeout;

use super::authorize::{AfterRefusal, AuthorizationAnswer, Authorize, OutgoingRequest};
use super::body::{self, ResponseBody};
use super::origin::{resolve, same_origin};
use super::pool::ConnectionPool;

/// Carries HTTP requests to one server over pooled connections.
pub(super) struct HttpLink {
    pub(super) pool: Arc<ConnectionPool>,
    pub(super) authorizer: Option<Arc<dyn Authorize>>,
}

const MAX_REDIRECTS: usize = 3;
/// The number of times that a refused request is sent again, whatever the authorizer says.
const MAX_RESENDS: u32 = 16;
/// The time for the body of a refusal; a connection that takes longer is closed.
const MAX_DISCARD: Duration = Duration::from_secs(1);

impl HttpLink {
    /// Sends a request and waits for the head of its answer. `head` is called once per hop.
    ///
    /// Redirects are followed where they keep method and origin, so that neither body, credentials nor session ever go
    /// to another server. A request whose answer demands authorization is sent again if the authorizer says so.
    pub(super) async fn send(
        &self,
        method: &Method,
        url: &Uri,
        body: Bytes,
        head: impl Fn() -> Result<HeaderMap, Error>,
    ) -> Result<Response<ResponseBody>, Error> {
        let Some(authorizer) = self.authorizer.as_deref() else {
            return self.follow(method, url, body, 0, &head).await.map(|answered| answered.response);
        };
        Box::pin(self.send_authorized(authorizer, method, url, body, head)).await
    }

    async fn send_authorized(
        &self,
        authorizer: &dyn Authorize,
        method: &Method,
        url: &Uri,
        body: Bytes,
        head: impl Fn() -> Result<HeaderMap, Error>,
    ) -> Result<Response<ResponseBody>, Error> {
        let mut attempt = 0;
        loop {
            let AnsweredRequest { response, url, authorized } =
                self.follow(method, url, body.clone(), attempt, &head).await?;
            let request = OutgoingRequest { method, url: &url, attempt, authorized: authorized.as_ref() };
            let answer = AuthorizationAnswer { status: response.status(), headers: response.headers() };
            authorizer.answered(&request, &answer);
            if !matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                return Ok(response);
            }
            match authorizer.refused(&request, &answer).await? {
                AfterRefusal::Resend if attempt < MAX_RESENDS => {
                    let _ = timeout(MAX_DISCARD, body::discard(response.into_body())).await;
                }
                AfterRefusal::Resend | AfterRefusal::Keep => return Ok(response),
            }
            attempt += 1;
        }
    }

    /// Sends a request to where redirects lead it.
    async fn follow(
        &self,
        method: &Method,
        url: &Uri,
        body: Bytes,
        attempt: u32,
        head: &impl Fn() -> Result<HeaderMap, Error>,
    ) -> Result<AnsweredRequest, Error> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut headers = head()?;
            let mut authorized = None;
            if let Some(authorizer) = &self.authorizer {
                let request = OutgoingRequest { method, url: &url, attempt, authorized: None };
                let added = authorized.insert(authorizer.authorize(&request).await?);
                for (name, value) in &*added {
                    headers.insert(name, value.clone());
                }
            }
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            // The server itself gets a part of the URL.
            *request.uri_mut() =
                url.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/")).into();
            *request.headers_mut() = headers;
            let response = self.pool.send(&url, request).await?;
            match response.status() {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {}
                _ => return Ok(AnsweredRequest { response, url, authorized }),
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

/// A request that was answered.
struct AnsweredRequest {
    response: Response<ResponseBody>,
    /// The URL that gave the answer, behind all redirects.
    url: Uri,
    /// The headers that the authorizer gave, if there is one.
    authorized: Option<HeaderMap>,
}
