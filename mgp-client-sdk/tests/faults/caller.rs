//! One client by hand: what it writes, and all that it reads.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::{Accept, ConnectionLimits};
use mgp_types::Revision;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::frames;
use crate::guest::Leaving;
use crate::peer::MAX_FRAME_BYTES;
use crate::pipe::{Pipe, Reset};
use crate::visit::serve;

/// A client of a server under test, which speaks MGP.
pub(crate) struct Caller {
    era: Revision,
    extensions: &'static [&'static str],
    writer: DuplexStream,
    reset: Reset,
    reading: JoinHandle<()>,
    heard: watch::Receiver<usize>,
    seen: Arc<Mutex<Vec<(Instant, Value)>>>,
    pause: watch::Sender<Option<Instant>>,
}

impl Caller {
    /// Connects to the server, and opens a session where there are any.
    pub(crate) async fn connect<A>(accept: &A, era: Revision, extensions: &'static [&'static str]) -> Self
    where
        A: Accept<Service: Unpin>,
    {
        let Pipe { near, far } = Pipe::new(16 << 10);
        let mut limits = ConnectionLimits::default();
        limits.max_frame_bytes = MAX_FRAME_BYTES;
        serve(accept, near, limits);
        let seen = Arc::<Mutex<Vec<_>>>::default();
        let (pause, paused) = watch::channel(None);
        let (told, heard) = watch::channel(0);
        let reading = tokio::spawn(read(far.reader, paused, seen.clone(), told));
        let mut caller =
            Self { era, extensions, writer: far.writer, reset: far.reset, reading, heard, seen, pause };
        if !era.is_stateless() {
            let params = json!({
                "protocolVersion": era.as_str(), "capabilities": {"extensions": frames::mgp(extensions)},
                "clientInfo": {"name": "guest", "version": "1"},
            });
            caller.call(json!("open"), "initialize", params).await;
            caller.tell("notifications/initialized", json!({})).await;
        }
        caller
    }

    /// Makes a request. Whether the connection took it.
    pub(crate) async fn call(&mut self, id: Value, method: &str, params: Value) -> bool {
        let params = self.with_envelope(params);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&frames::line(&request)).await
    }

    pub(crate) async fn tell(&mut self, method: &str, params: Value) -> bool {
        let params = self.with_envelope(params);
        self.write(&frames::note(method, &params)).await
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        self.writer.write_all(bytes).await.is_ok()
    }

    /// Reads nothing for so long.
    pub(crate) fn rest(&self, time: Duration) {
        self.pause.send_replace(Some(Instant::now() + time));
    }

    /// Waits for the message number `place`, from 0 on; `None` if the connection ends before.
    pub(crate) async fn nth(&mut self, place: usize) -> Option<Value> {
        self.heard.wait_for(|heard| *heard > place).await.ok()?;
        self.seen.lock().get(place).map(|(_, message)| message.clone())
    }

    /// Goes, and returns all that was read.
    pub(crate) async fn leave(self, how: Leaving) -> Vec<(Instant, Value)> {
        match how {
            Leaving::CloseWrites => {
                drop(self.writer);
                self.reading.await.unwrap();
            }
            Leaving::Vanish => {
                self.reading.abort();
                drop(self.writer);
            }
            Leaving::Reset => {
                self.reading.abort();
                self.reset.fire();
            }
        }
        std::mem::take(&mut *self.seen.lock())
    }

    fn with_envelope(&self, mut params: Value) -> Value {
        if self.era.is_stateless() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.era.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {"extensions": frames::mgp(self.extensions)},
                "io.modelcontextprotocol/clientInfo": {"name": "guest", "version": "1"},
            });
        }
        params
    }
}

/// Reads until the server closes the connection.
async fn read(
    reader: DuplexStream,
    paused: watch::Receiver<Option<Instant>>,
    seen: Arc<Mutex<Vec<(Instant, Value)>>>,
    told: watch::Sender<usize>,
) {
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let until = *paused.borrow();
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
        let message = serde_json::from_str(&line).expect("the server writes JSON");
        seen.lock().push((Instant::now(), message));
        told.send_modify(|heard| *heard += 1);
    }
}
