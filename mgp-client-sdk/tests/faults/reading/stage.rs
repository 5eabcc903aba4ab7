//! The connections of the server, and its handshakes.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinSet;

use super::peer::Peer;
use crate::pipe::{Breakable, Far, Pipe};

/// The voice of a server on one connection.
#[derive(Clone)]
pub(super) struct Voice {
    writer: Arc<Mutex<Option<DuplexStream>>>,
    hung_up: Arc<Notify>,
}

/// The moment at which a server ends, if it does.
#[derive(Default)]
pub(super) struct Crash(watch::Sender<bool>);

/// Opens a connection to a server, and returns the client's end.
pub(super) fn open(peer: &Arc<Peer>) -> (Breakable, Breakable) {
    let Pipe { near, far } = Pipe::new(PIPE_BYTES);
    tokio::spawn(carry(peer.clone(), far));
    near
}

async fn carry(peer: Arc<Peer>, far: Far) {
    // Not to be dropped before the end: then the connection could not be told from a safe one.
    let Far { reader, writer, reset: _reset } = far;
    let hung_up = Arc::<Notify>::default();
    let voice = Voice { writer: Arc::new(Mutex::new(Some(writer))), hung_up: hung_up.clone() };
    let mut turns = JoinSet::new();
    let mut lines = BufReader::new(reader).lines();
    let reading = async {
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("the client writes JSON");
            turns.spawn(peer.clone().take(&message, voice.clone()));
        }
    };
    tokio::select! {
        () = reading => {}
        () = hung_up.notified() => {}
    }
    peer.ended();
    turns.shutdown().await;
    *voice.writer.lock().await = None;
}

impl Voice {
    /// Returns whether the connection took the message.
    pub(super) async fn say(&self, bytes: &[u8]) -> bool {
        match &mut *self.writer.lock().await {
            Some(writer) => writer.write_all(bytes).await.is_ok(),
            None => false,
        }
    }

    /// Ends the connection, as it ends with a process.
    pub(super) fn hang_up(&self) {
        self.hung_up.notify_one();
    }
}

impl Crash {
    /// Tells all waiters that the crash happens now.
    pub(super) fn happen(&self) {
        self.0.send_replace(true);
    }

    /// Greets the client, and stays with the connection to end it when the server ends.
    pub(super) async fn greet(&self, greeting: &[u8], voice: &Voice) {
        voice.say(greeting).await;
        if self.0.subscribe().wait_for(|is_now| *is_now).await.is_ok() {
            voice.hang_up();
        }
    }
}

const PIPE_BYTES: usize = 16 << 10;
