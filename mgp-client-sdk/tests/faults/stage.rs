//! Servers by hand: their connections and their handshakes. What they do otherwise is the part they play.

use std::sync::Arc;

use mgp_types::Revision;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinSet;

use crate::frames;
use crate::pipe::{Breakable, Far, Pipe};

/// The reactions of a server to its messages.
pub(crate) trait Part: Send + Sync + 'static {
    /// Takes a message in, one after the other, and returns what is done about it, which ends with the connection.
    fn take(self: Arc<Self>, message: Value, voice: Voice) -> impl Future<Output = ()> + Send + 'static;

    /// The connection is over.
    fn ended(&self) {}
}

/// The voice of a server on one connection.
#[derive(Clone)]
pub(crate) struct Voice {
    writer: Arc<Mutex<Option<DuplexStream>>>,
    hung_up: Arc<Notify>,
}

/// The moment at which a server ends, if it does.
#[derive(Default)]
pub(crate) struct Crash(watch::Sender<bool>);

/// Opens a connection to a server that plays `part`, and returns the client's end.
pub(crate) fn open<P: Part>(part: &Arc<P>) -> (Breakable, Breakable) {
    let Pipe { near, far } = Pipe::new(PIPE_BYTES);
    tokio::spawn(carry(part.clone(), far));
    near
}

/// Returns the answer of a server of `era` that speaks MGP, if `message` belongs to the handshake.
pub(crate) fn greeting(extensions: &[&str], era: Revision, message: &Value) -> Option<Vec<u8>> {
    let method = message["method"].as_str()?;
    let is_greeting = matches!(method, "initialize" | "server/discover") && !message["id"].is_null();
    is_greeting.then(|| frames::handshake_with(extensions, era, &message["id"], method))
}

async fn carry<P: Part>(part: Arc<P>, far: Far) {
    // Not to be dropped before the end: then the connection could not be told from a safe one.
    let Far { reader, writer, reset: _reset } = far;
    let hung_up = Arc::<Notify>::default();
    let voice = Voice { writer: Arc::new(Mutex::new(Some(writer))), hung_up: hung_up.clone() };
    let mut turns = JoinSet::new();
    let mut lines = BufReader::new(reader).lines();
    let reading = async {
        while let Ok(Some(line)) = lines.next_line().await {
            let message = serde_json::from_str(&line).expect("the client writes JSON");
            turns.spawn(part.clone().take(message, voice.clone()));
        }
    };
    tokio::select! {
        () = reading => {}
        () = hung_up.notified() => {}
    }
    part.ended();
    turns.shutdown().await;
    *voice.writer.lock().await = None;
}

impl Voice {
    /// Returns whether the connection took the message.
    pub(crate) async fn say(&self, bytes: &[u8]) -> bool {
        match &mut *self.writer.lock().await {
            Some(writer) => writer.write_all(bytes).await.is_ok(),
            None => false,
        }
    }

    /// Ends the connection, as it ends with a process.
    pub(crate) fn hang_up(&self) {
        self.hung_up.notify_one();
    }
}

impl Crash {
    /// Tells all waiters that the crash happens now.
    pub(crate) fn happen(&self) {
        self.0.send_replace(true);
    }

    /// Greets the client, and stays with the connection to end it when the server ends.
    pub(crate) async fn greet(&self, greeting: &[u8], voice: &Voice) {
        voice.say(greeting).await;
        if self.0.subscribe().wait_for(|is_now| *is_now).await.is_ok() {
            voice.hang_up();
        }
    }
}

const PIPE_BYTES: usize = 16 << 10;
