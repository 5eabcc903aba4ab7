//! Raw connections to a subject: the kit sends any text, and sees every answer as it was written.

mod http;
mod stdio;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

pub(crate) use self::http::HttpLink;
pub(crate) use self::stdio::StdioLink;

/// The headers of a message, names in lower case.
pub(crate) type Headers = BTreeMap<String, String>;

/// What arrives from the subject.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// JSON.
    Message(Value),
    /// A text that is not JSON, where a message belongs.
    Unreadable(String),
    /// The subject says nothing more to what was sent: the body of an answer is complete, or the process has ended.
    End,
}

impl Arrival {
    fn read(text: &[u8]) -> Self {
        match serde_json::from_slice(text) {
            Ok(message) => Self::Message(message),
            Err(_) => Self::Unreadable(String::from_utf8_lossy(text).into_owned()),
        }
    }
}

/// The head of an HTTP response to what was sent; empty over other transports.
#[derive(Debug, Default)]
pub(crate) struct Receipt {
    pub(crate) status: Option<u16>,
    pub(crate) headers: Headers,
}

/// A connection that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("the program cannot be started: {0}")]
    Unstarted(std::io::Error),
    #[error("the program has ended or closed its input")]
    Closed,
    #[error("{0}")]
    Http(String),
    #[error("no answer within {0:?}")]
    Silent(Duration),
}

/// The number of messages that may wait to be read; a subject that sends more waits.
const MAX_WAITING: usize = 1024;

/// The way to a subject, and what arrives from it.
#[derive(Debug)]
pub(crate) struct Link {
    way: Way,
    arrivals: mpsc::Receiver<Arrival>,
    patience: Duration,
}

#[derive(Debug)]
enum Way {
    Stdio(StdioLink),
    Http(HttpLink),
}

impl Link {
    /// Starts a program, and speaks on its standard input and output.
    pub(crate) fn start(command: &[String], patience: Duration) -> Result<Self, LinkError> {
        let (sender, arrivals) = mpsc::channel(MAX_WAITING);
        Ok(Self { way: Way::Stdio(StdioLink::start(command, sender)?), arrivals, patience })
    }

    /// Speaks with the server at a URL.
    pub(crate) fn reach(url: &str, patience: Duration) -> Result<Self, LinkError> {
        let (sender, arrivals) = mpsc::channel(MAX_WAITING);
        Ok(Self { way: Way::Http(HttpLink::new(url, sender)?), arrivals, patience })
    }

    /// Sends a text as one message. Headers count over HTTP only.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        text: &str,
        headers: &Headers,
    ) -> Result<Receipt, LinkError> {
        let sent = async {
            match &mut self.way {
                Way::Stdio(stdio) => stdio.send(text).await.map(|()| Receipt::default()),
                Way::Http(http) => http.send(method, text, headers).await,
            }
        };
        timeout(self.patience, sent).await.unwrap_or(Err(LinkError::Silent(self.patience)))
    }

    /// Waits for what arrives next.
    pub(crate) async fn next(&mut self) -> Result<Arrival, LinkError> {
        let arrival = timeout(self.patience, self.arrivals.recv()).await;
        arrival.map_err(|_| LinkError::Silent(self.patience))?.ok_or(LinkError::Closed)
    }
}
