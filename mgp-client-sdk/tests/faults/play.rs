//! The client's side of a schedule: what it does, and what became of each call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, PlainStack};
use mgp_transport::{ConnectionLimits, Wire};
use mgp_types::mcp::{CallToolResult, SubscriptionFilter};
use mgp_types::{Error, RawJson};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::peer::{MAX_FRAME_BYTES, Process};
use crate::pipe::Breakable;
use crate::schedule::{HowEnded, Planned, Schedule};
use crate::turn::SLOW_REQUEST;

/// The time that clients take to answer [`SLOW_REQUEST`].
pub(crate) const SLOWNESS: Duration = Duration::from_millis(100);

pub(crate) type PlainClient = Client<PlainStack<Wire>>;

/// The record of the clients.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// By the calls' own numbers. A call that was never made, or that went with its client, is not here.
    pub(crate) calls: HashMap<u64, Outcome>,
    /// The time at which the subscription of a session ended by itself.
    pub(crate) silent: HashMap<usize, Instant>,
    /// The time at which the clients were closed or dropped.
    pub(crate) left: Option<Instant>,
}

/// The outcome of one call.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) how: How,
}

#[derive(Debug)]
pub(crate) enum How {
    /// By the text of the answer: the number of the call, and that of the answer.
    Answered(String),
    Failed(Error),
    Dropped,
}

pub(crate) fn builder() -> ClientBuilder {
    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = MAX_FRAME_BYTES;
    limits.max_skipped_bytes = 4 * MAX_FRAME_BYTES;
    Client::builder("tester", "1.0.0").limits(limits).on_request(SLOW_REQUEST, async |_, _| {
        tokio::time::sleep(SLOWNESS).await;
        Ok(RawJson::empty_object())
    })
}

pub(crate) async fn connect((reader, writer): (Breakable, Breakable)) -> Result<PlainClient, Error> {
    builder().connect_io(reader, writer).await
}

/// Returns the text of an answer, if it has any.
pub(crate) fn text(result: &CallToolResult) -> String {
    let first = result.content.first().and_then(|content| content.as_text());
    first.unwrap_or_default().to_owned()
}

/// Connects the clients of a schedule. The handshakes have to succeed.
pub(crate) async fn connect_all(schedule: &Schedule, process: &Process) -> Vec<PlainClient> {
    let mut clients = Vec::new();
    for session in 0..schedule.sessions {
        clients.push(connect(process.open(session)).await.unwrap());
    }
    clients
}

/// Plays the clients' side, one client for each session.
pub(crate) async fn play(schedule: &Schedule, clients: Vec<PlainClient>) -> Played {
    let played = Arc::new(Mutex::new(Played::default()));
    let mut running = JoinSet::new();
    for &session in &schedule.listening {
        running.spawn(listen(clients[session].clone(), session, played.clone()));
    }
    let start = Instant::now();
    for &planned in &schedule.calls {
        running.spawn(make(clients[planned.session].clone(), start + planned.at, planned, played.clone()));
    }
    let left = start + schedule.ending.at;
    let all_done = async { while running.join_next().await.is_some() {} };
    let ended_by_itself = tokio::time::timeout_at(left, all_done).await.is_ok();
    played.lock().left = Some(Instant::now());
    match schedule.ending.how {
        HowEnded::Dropped => {
            running.shutdown().await;
            drop(clients);
        }
        HowEnded::Closed => {
            for client in clients {
                client.close().await.unwrap();
            }
            while running.join_next().await.is_some() {}
        }
    }
    if ended_by_itself {
        // What came last may still be on its way to the server.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let Some(played) = Arc::into_inner(played) else { panic!("somebody still plays") };
    played.into_inner()
}

async fn make(client: PlainClient, at: Instant, planned: Planned, played: Arc<Mutex<Played>>) {
    tokio::time::sleep_until(at).await;
    let started = Instant::now();
    let call = client.call_tool("echo", json!({"nonce": planned.nonce})).timeout(planned.deadline);
    let patience = planned.dropped_after.unwrap_or(Duration::MAX);
    let how = match tokio::time::timeout(patience, call.into_future()).await {
        Ok(Ok(result)) => How::Answered(text(&result)),
        Ok(Err(error)) => How::Failed(error),
        Err(_) => How::Dropped,
    };
    if let How::Failed(error) = &how {
        // Whatever the server wrote there: looking at it does no harm.
        let _ = (error.recovery(), error.wire_data(), error.to_string());
    }
    played.lock().calls.insert(planned.nonce, Outcome { started, ended: Instant::now(), how });
}

/// Listens for changes until the server is heard no more.
async fn listen(client: PlainClient, session: usize, played: Arc<Mutex<Played>>) {
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    if let Ok(mut changes) = client.subscribe(filter).await {
        drop(client);
        while changes.next().await.is_some() {}
    }
    played.lock().silent.insert(session, Instant::now());
}
