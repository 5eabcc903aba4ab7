//! One guest at one server: what it wrote, and what it read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_server_sdk::{Server, Tool};
use mgp_transport::{Accept, ConnectionLimits, connect};
use mgp_types::Revision;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::frames;
use crate::guest::{Guest, Leaving, Move, Tool as Called};
use crate::peer::MAX_FRAME_BYTES;
use crate::pipe::{Breakable, Pipe};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Given {
    nonce: u64,
    #[serde(default)]
    millis: u64,
}

/// Returns the server of all guests.
pub(crate) fn server() -> Server {
    Server::new("host", "1.0.0")
        .tool(Tool::new("echo", "Says its number."), async |Given { nonce, .. }: Given| nonce.to_string())
        .tool(Tool::new("later", "Says its number later."), async |Given { nonce, millis }: Given| {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            nonce.to_string()
        })
        .tool(Tool::new("hang", "Says nothing."), async |Given { .. }: Given| {
            std::future::pending::<String>().await
        })
}

/// The record of a guest.
#[derive(Debug, Default)]
pub(crate) struct Visit {
    /// The time at which each move was made; those after the end of the connection are missing.
    pub(crate) made: Vec<Instant>,
    /// The messages that came under each id.
    pub(crate) answers: HashMap<i64, Vec<(Instant, Value)>>,
    /// The time at which the guest began to leave.
    pub(crate) leaving: Option<Instant>,
    /// The time at which the connection was over.
    pub(crate) over: Option<Instant>,
}

/// Serves one connection with limits that are easily reached.
pub(crate) fn serve<A>(accept: &A, (reader, writer): (Breakable, Breakable), limits: ConnectionLimits)
where
    A: Accept<Service: Unpin>,
{
    let (_, connection) = connect(reader, writer, accept, limits);
    tokio::spawn(connection);
}

pub(crate) async fn visit<A: Accept<Service: Unpin>>(accept: &A, guest: &Guest) -> Visit {
    let Pipe { near, far } = Pipe::new(16 << 10);
    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = MAX_FRAME_BYTES;
    serve(accept, near, limits);
    let seen = Arc::new(Mutex::new(Visit::default()));
    let (pause, paused) = watch::channel(None);
    let reading = tokio::spawn(read(far.reader, paused, seen.clone()));
    let mut writer = far.writer;
    let mut open = guest.era.is_stateless() || writer.write_all(INITIALIZE.as_bytes()).await.is_ok();
    let start = Instant::now();
    for (at, what) in &guest.moves {
        tokio::time::sleep_until(start + *at).await;
        if let Move::StopReading(time) = what {
            pause.send_replace(Some(Instant::now() + *time));
        }
        open = open && write(&mut writer, guest.era, *what).await;
        if open {
            seen.lock().made.push(Instant::now());
        }
    }
    let (at, how) = guest.leaving;
    tokio::time::sleep_until(start + at).await;
    seen.lock().leaving = Some(Instant::now());
    match how {
        Leaving::CloseWrites => {
            drop(writer);
            reading.await.unwrap();
        }
        Leaving::Vanish => {
            reading.abort();
            drop(writer);
        }
        Leaving::Reset => {
            reading.abort();
            far.reset.fire();
        }
    }
    // Gone for good only when the reader has let go of what was seen.
    while Arc::strong_count(&seen) > 1 {
        tokio::task::yield_now().await;
    }
    std::mem::take(&mut *seen.lock())
}

/// Reads until the server closes the connection.
async fn read(reader: DuplexStream, paused: watch::Receiver<Option<Instant>>, seen: Arc<Mutex<Visit>>) {
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let until = *paused.borrow();
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
        let message: Value = serde_json::from_str(&line).expect("the server writes JSON");
        if let Some(id) = message["id"].as_i64() {
            seen.lock().answers.entry(id).or_default().push((Instant::now(), message));
        }
    }
    seen.lock().over = Some(Instant::now());
}

/// Returns whether the connection still takes the message.
async fn write(writer: &mut DuplexStream, era: Revision, what: Move) -> bool {
    let (bytes, piece) = match what {
        Move::Call { id, nonce, tool } => (call(era, id, nonce, tool), usize::MAX),
        Move::SlowCall { id, nonce, tool } => (call(era, id, nonce, tool), 1),
        Move::Cancel { id } => {
            (frames::note("notifications/cancelled", &json!({"requestId": id})), usize::MAX)
        }
        Move::Garbage(garbage) => (frames::garbage(garbage, MAX_FRAME_BYTES), usize::MAX),
        Move::Notifications => (frames::notifications(), usize::MAX),
        Move::Replies => {
            let ids = [json!(1), json!("1"), json!(null), json!(-7), json!(1.5)];
            let replies = ids.iter().flat_map(|id| frames::result(id, &json!({})));
            (replies.collect(), usize::MAX)
        }
        Move::Flood { first, times } => {
            let calls = (first..first + times).flat_map(|id| call(era, id, 0, Called::Echo));
            (calls.collect(), usize::MAX)
        }
        Move::StopReading(_) => return true,
    };
    for piece in bytes.chunks(piece) {
        if writer.write_all(piece).await.is_err() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

pub(crate) fn call(era: Revision, id: i64, nonce: u64, tool: Called) -> Vec<u8> {
    let (name, time) = match tool {
        Called::Echo => ("echo", Duration::ZERO),
        Called::Later(time) => ("later", time),
        Called::Hang => ("hang", Duration::ZERO),
    };
    let arguments = json!({"nonce": nonce, "millis": u64::try_from(time.as_millis()).unwrap()});
    let mut params = json!({"name": name, "arguments": arguments});
    if era.is_stateless() {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": era.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "guest", "version": "1"},
        });
    }
    frames::line(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"guest","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);
