//! Connections to a server by a script, for tests.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Request, Response};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tower_service::Service;

use crate::ServerEnd;
use crate::supervise::{Connect, ConnectedServer, Supervisor};

/// The course of one attempt to connect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptedAttempt {
    /// The time that the attempt takes.
    pub(crate) takes: Duration,
    pub(crate) fate: AttemptOutcome,
    /// The time that calls take; `None` for a server that never answers, not even when it dies.
    pub(crate) answers_after: Option<Duration>,
    pub(crate) closes_within: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum AttemptOutcome {
    Refuses,
    Hangs,
    Panics,
    Lives,
    Ends(Duration, ServerEnd),
}

/// An attempt whose incarnation lives until it is ended.
pub(crate) const LIVES: ScriptedAttempt = ScriptedAttempt::new(AttemptOutcome::Lives);

impl ScriptedAttempt {
    pub(crate) const fn new(fate: AttemptOutcome) -> Self {
        let (takes, answers) = (Duration::from_millis(100), Some(Duration::from_millis(50)));
        Self { takes, fate, answers_after: answers, closes_within: Duration::from_millis(20) }
    }
}

/// The host of one server: each attempt follows the next act of the script, and open connections are counted.
#[derive(Debug, Clone)]
pub(crate) struct FakeServerHost(Arc<HostCounts>);

#[derive(Debug)]
struct HostCounts {
    script: Mutex<VecDeque<ScriptedAttempt>>,
    /// The act after the end of the script.
    usual: ScriptedAttempt,
    attempts: AtomicUsize,
    open: AtomicUsize,
    most: AtomicUsize,
    calls: AtomicUsize,
    closes: AtomicUsize,
    /// The sender that ends the open connection.
    end: Mutex<Option<oneshot::Sender<ServerEnd>>>,
}

impl FakeServerHost {
    pub(crate) fn new(usual: AttemptOutcome) -> Self {
        Self::with_script([], ScriptedAttempt::new(usual))
    }

    pub(crate) fn with_script(
        script: impl IntoIterator<Item = ScriptedAttempt>,
        usual: ScriptedAttempt,
    ) -> Self {
        Self(Arc::new(HostCounts {
            script: Mutex::new(script.into_iter().collect()),
            usual,
            attempts: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            closes: AtomicUsize::new(0),
            end: Mutex::default(),
        }))
    }

    /// Returns a host whose incarnations live, and answer calls after a time or never.
    pub(crate) fn answering(after: Option<Duration>) -> Self {
        Self::with_script([], ScriptedAttempt { answers_after: after, ..LIVES })
    }

    pub(crate) fn supervisor(&self, name: &str) -> Supervisor<Self> {
        Supervisor::new(name.into(), self.clone())
    }

    pub(crate) fn attempts(&self) -> usize {
        self.0.attempts.load(SeqCst)
    }

    /// Returns the number of connections that are open, or are being opened.
    pub(crate) fn open(&self) -> usize {
        self.0.open.load(SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.0.most.load(SeqCst)
    }

    /// Returns the number of calls that reached the server.
    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(SeqCst)
    }

    /// Returns the number of connections that were closed gracefully.
    pub(crate) fn closes(&self) -> usize {
        self.0.closes.load(SeqCst)
    }

    pub(crate) fn end(&self, how: ServerEnd) {
        self.0.end.lock().take().expect("a connection is open").send(how).unwrap();
    }
}

impl Connect for FakeServerHost {
    type Service = Incarnation;

    async fn connect(&self) -> Result<ConnectedServer<Incarnation>, Error> {
        let act = self.0.script.lock().pop_front().unwrap_or(self.0.usual);
        let number = self.0.attempts.fetch_add(1, SeqCst) + 1;
        let open = OpenConnection::new(self);
        tokio::time::sleep(act.takes).await;
        match act.fate {
            AttemptOutcome::Refuses => return Err(Error::disconnected("refused")),
            AttemptOutcome::Panics => panic!("as the script says"),
            AttemptOutcome::Hangs => pending().await,
            AttemptOutcome::Lives | AttemptOutcome::Ends(..) => {}
        }
        let (end, ended) = oneshot::channel();
        *self.0.end.lock() = Some(end);
        let gone = open.gone.subscribe();
        let service = Incarnation { number, world: self.clone(), gone, answers_after: act.answers_after };
        let (open, world) = (Arc::new(open), self.clone());
        let held = Arc::clone(&open);
        let ended = async move {
            let _held = held;
            let by_itself = async {
                match act.fate {
                    AttemptOutcome::Ends(after, how) => {
                        tokio::time::sleep(after).await;
                        how
                    }
                    _ => pending().await,
                }
            };
            tokio::select! {
                how = by_itself => how,
                Ok(how) = ended => how,
            }
        };
        Ok(ConnectedServer::new(service, ended).with_close(move || async move {
            tokio::time::sleep(act.closes_within).await;
            world.0.closes.fetch_add(1, SeqCst);
            drop(open);
        }))
    }
}

/// A guard that counts as a connection until it is dropped.
struct OpenConnection {
    world: FakeServerHost,
    gone: watch::Sender<bool>,
}

impl OpenConnection {
    fn new(world: &FakeServerHost) -> Self {
        let open = world.0.open.fetch_add(1, SeqCst) + 1;
        world.0.most.fetch_max(open, SeqCst);
        Self { world: world.clone(), gone: watch::Sender::new(false) }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.world.0.open.fetch_sub(1, SeqCst);
    }
}

/// The service of one incarnation; its answers name the incarnation.
#[derive(Debug, Clone)]
pub(crate) struct Incarnation {
    pub(crate) number: usize,
    world: FakeServerHost,
    gone: watch::Receiver<bool>,
    answers_after: Option<Duration>,
}

impl Service<Request> for Incarnation {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        let Self { number, mut gone, answers_after, world } = self.clone();
        Box::pin(async move {
            world.0.calls.fetch_add(1, SeqCst);
            let Some(after) = answers_after else { return pending().await };
            tokio::select! {
                biased;
                () = tokio::time::sleep(after) => Response::with_body(&serde_json::json!({ "by": number })),
                _ = gone.changed() => Err(Error::disconnected("the connection is closed")),
            }
        })
    }
}

/// Returns the number of the incarnation that answered.
pub(crate) fn by(response: &Response) -> u64 {
    response.body::<serde_json::Value>().unwrap()["by"].as_u64().unwrap()
}
