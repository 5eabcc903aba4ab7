//! How a person is asked to sign in: a browser, and an address of this machine to which its answer comes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::OAuthError;

/// Asks a person to sign in, in a browser.
pub trait Browser: Send + Sync + 'static {
    /// Prepares the address to which the answer of a login comes. `before` is the address of an earlier login, which
    /// is used again if it can be, because the issuer knows it.
    ///
    /// # Errors
    /// There is no such address.
    fn redirect_target<'a>(
        &'a self,
        before: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn RedirectTarget>, OAuthError>>;
}

/// The address to which the answer of one login comes.
pub trait RedirectTarget: Send {
    /// Returns the address.
    fn uri(&self) -> &str;

    /// Shows the page of the issuer to the person, and waits for the answer: the query of the request to the address.
    /// `is_answer` tells which query is the answer, so that other requests to the address change nothing.
    ///
    /// # Errors
    /// Nobody answered in time.
    fn sign_in(
        self: Box<Self>,
        page: String,
        is_answer: Box<dyn Fn(&str) -> bool + Send + Sync>,
    ) -> BoxFuture<'static, Result<String, OAuthError>>;
}

/// The browser of the person at this machine, whose answer comes to a port of the loopback address.
#[derive(Clone)]
pub struct LoopbackBrowser {
    show: Arc<dyn Fn(&str) + Send + Sync>,
    port: Option<u16>,
    patience: Duration,
}

impl LoopbackBrowser {
    /// Creates the browser. `show` opens the page that it is given, or prints it. It gets addresses of `https` or
    /// `http` alone, and must not hand them to a shell.
    pub fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show), port: None, patience: PATIENCE }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Sets the port to which answers come, for issuers that know one port only. Default: any that is free.
        pub fn port(port: u16) => self.port = Some(port);

        /// Sets the time that the person has. Default: 5 min.
        pub fn patience(patience: Duration) => self.patience = patience;
    }
}

mgp_types::partial_debug!(LoopbackBrowser, self => port: self.port, patience: self.patience);

impl Browser for LoopbackBrowser {
    fn redirect_target<'a>(
        &'a self,
        before: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn RedirectTarget>, OAuthError>> {
        Box::pin(async move {
            let port = self.port.or_else(|| before.and_then(loopback_port));
            let socket = match bind(port.unwrap_or_default()).await {
                // Only a port that was set has to be had.
                Err(_) if self.port.is_none() => bind(0).await,
                bound => bound,
            };
            let unopened =
                |_: io::Error| OAuthError::NoAnswer("no port of this machine is free for the answer");
            let socket = socket.map_err(unopened)?;
            let port = socket.local_addr().map_err(unopened)?.port();
            let uri = format!("http://127.0.0.1:{port}{PATH}");
            let target = LoopbackTarget { socket, uri, browser: self.clone() };
            Ok(Box::new(target) as Box<dyn RedirectTarget>)
        })
    }
}

async fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

fn loopback_port(uri: &str) -> Option<u16> {
    uri.strip_prefix("http://127.0.0.1:")?.strip_suffix(PATH)?.parse().ok()
}

/// A port of the loopback address that waits for an answer.
struct LoopbackTarget {
    socket: TcpListener,
    uri: String,
    browser: LoopbackBrowser,
}

impl RedirectTarget for LoopbackTarget {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn sign_in(
        self: Box<Self>,
        page: String,
        is_answer: Box<dyn Fn(&str) -> bool + Send + Sync>,
    ) -> BoxFuture<'static, Result<String, OAuthError>> {
        Box::pin(async move {
            (self.browser.show)(&page);
            let waiting = async {
                loop {
                    let Ok((stream, _)) = self.socket.accept().await else { continue };
                    // Browsers open connections that they never use; none keeps the next one waiting for long.
                    if let Ok(Some(query)) = timeout(REQUEST_TIMEOUT, answer(stream, &is_answer)).await {
                        return query;
                    }
                }
            };
            timeout(self.browser.patience, waiting)
                .await
                .map_err(|_| OAuthError::NoAnswer("the time for it is over; try again"))
        })
    }
}

/// Answers one request of a browser, and returns its query if it is the answer to the login.
async fn answer(mut stream: TcpStream, is_answer: &(dyn Fn(&str) -> bool + Send + Sync)) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(&buffer[..read]);
        if head.len() > MAX_HEAD_BYTES {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    let target = std::str::from_utf8(line).ok()?.strip_prefix("GET ")?.split(' ').next()?;
    let query = target.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('?'));
    let query = query.filter(|query| is_answer(query)).map(str::to_owned);
    let (status, text) = match query {
        Some(_) => {
            ("200 OK", "The answer has arrived. You can close this page, and go on where you came from.")
        }
        None => ("404 Not Found", "There is nothing here."),
    };
    let page = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         connection: close\r\n\r\n{text}",
        text.len(),
    );
    let _ = stream.write_all(page.as_bytes()).await;
    let _ = stream.shutdown().await;
    query
}

const PATH: &str = "/callback";
/// The time that a person has to sign in, unless another one is set.
const PATIENCE: Duration = Duration::from_mins(5);
/// The time for one request of the browser.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_HEAD_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    async fn request(uri: &str, target: &str) -> String {
        let address = uri.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn only_the_answer_to_the_login_is_taken() {
        let target = LoopbackBrowser::new(|_| {}).redirect_target(None).await.unwrap();
        let uri = target.uri().to_owned();
        let is_answer: Box<dyn Fn(&str) -> bool + Send + Sync> =
            Box::new(|query| query.contains("state=mine"));
        let waiting = tokio::spawn(target.sign_in("https://id.example/".into(), is_answer));
        for other in ["/favicon.ico", "/callback", "/callback?code=1&state=other", "/other?state=mine"] {
            assert!(request(&uri, other).await.starts_with("HTTP/1.1 404"), "{other}");
        }
        assert!(request(&uri, "/callback?code=1&state=mine").await.starts_with("HTTP/1.1 200"));
        assert_eq!(waiting.await.unwrap().unwrap(), "code=1&state=mine");
    }

    #[tokio::test]
    async fn the_address_of_an_earlier_login_is_used_again() {
        let browser = LoopbackBrowser::new(|_| {});
        let first = browser.redirect_target(None).await.unwrap().uri().to_owned();
        assert_eq!(browser.redirect_target(Some(&first)).await.unwrap().uri(), first);
        let taken = browser.redirect_target(Some(&first)).await.unwrap();
        assert_ne!(browser.redirect_target(Some(&first)).await.unwrap().uri(), taken.uri());
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_who_does_not_answer_is_not_waited_for_forever() {
        let target = LoopbackBrowser::new(|_| {}).redirect_target(None).await.unwrap();
        let over = target.sign_in("https://id.example/".into(), Box::new(|_| true)).await;
        assert!(matches!(over, Err(OAuthError::NoAnswer(_))));
    }
}
