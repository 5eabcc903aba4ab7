//! A scripted server: one process with any number of connections, each treated as the schedule says.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use mgp_types::Revision;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::frames;
use crate::pipe::{Breakable, Far, Pipe};
use crate::record::{Key, Kind, Record, Reply, id};
use crate::schedule::Schedule;
use crate::turn::{Act, Break, Garbage, NEITHER, Noise, Turn};

/// A server that does what it is told to. Clones are the same process.
#[derive(Clone)]
pub(crate) struct Process(Arc<Inner>);

struct Inner {
    era: Revision,
    /// The treatment of each call, by its own number; others are answered.
    calls: HashMap<u64, Turn>,
    /// The treatment of the requests of the handshakes, in order; further ones are answered.
    opening: Vec<Turn>,
    opened: AtomicUsize,
    answers: AtomicUsize,
    record: Mutex<Record>,
    life: watch::Sender<Life>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Life {
    Runs,
    /// All clients are gone, which connections that do not read cannot see.
    Over,
    Dead,
}

/// A connection of the process.
struct Session {
    process: Process,
    number: usize,
    /// Bounded: a turn waits until there is room.
    out: mpsc::Sender<Out>,
    stop_reading: Notify,
    /// The ids of the server's own requests, from 1 on as those of the client.
    next_id: AtomicI64,
}

/// The next act of the writer of a connection.
enum Out {
    /// Writes, piece by piece, and notes what that was.
    Write {
        bytes: Vec<u8>,
        piece: usize,
        then: Option<Written>,
    },
    CloseWrites,
    Crash,
    Reset,
}

/// The note to make when a message was written.
#[derive(Clone, Copy)]
enum Written {
    Reply(Key, Kind),
    Asked(Key),
}

impl Process {
    pub(crate) fn new(schedule: &Schedule) -> Self {
        let calls = schedule.calls.iter().map(|call| (call.nonce, call.turn)).collect();
        Self::with(schedule.era, calls, schedule.opening.clone())
    }

    /// Returns a process that treats one call after the other as in `acts`; the calls' numbers begin with 0.
    pub(crate) fn acting(era: Revision, acts: &[Act]) -> Self {
        let turns = acts.iter().map(|act| Turn { after: Duration::ZERO, act: *act });
        Self::with(era, (0..).zip(turns).collect(), Vec::new())
    }

    fn with(era: Revision, calls: HashMap<u64, Turn>, opening: Vec<Turn>) -> Self {
        Self(Arc::new(Inner {
            era,
            calls,
            opening,
            opened: AtomicUsize::new(0),
            answers: AtomicUsize::new(0),
            record: Mutex::default(),
            life: watch::Sender::new(Life::Runs),
        }))
    }

    /// Opens a connection and returns the client's end.
    pub(crate) fn open(&self, session: usize) -> (Breakable, Breakable) {
        let pipe = Pipe::new(PIPE_BYTES);
        tokio::spawn(self.clone().carry(session, pipe.far));
        pipe.near
    }

    /// Ends what would wait for clients that are gone.
    pub(crate) fn clients_are_gone(&self) {
        self.0.life.send_replace(Life::Over);
    }

    /// Returns the number of the next answer.
    fn serial(&self) -> usize {
        self.0.answers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn record(&self) -> parking_lot::MutexGuard<'_, Record> {
        self.0.record.lock()
    }

    async fn carry(self, number: usize, far: Far) {
        let (out, outgoing) = mpsc::channel(64);
        let session = Arc::new(Session {
            process: self.clone(),
            number,
            out,
            stop_reading: Notify::new(),
            next_id: AtomicI64::new(1),
        });
        let mut life = self.0.life.subscribe();
        let Far { reader, writer, reset } = far;
        let reset = tokio::select! {
            reset = self.write(number, writer, outgoing) => reset,
            () = session.read(reader) => false,
            _ = life.wait_for(|life| *life == Life::Dead) => false,
        }
        .then_some(reset);
        self.record().end(number);
        if let Some(reset) = reset {
            reset.fire();
        }
    }

    /// Writes until the connection is to break; whether by a reset.
    async fn write(&self, session: usize, writer: DuplexStream, mut out: mpsc::Receiver<Out>) -> bool {
        let mut writer = Some(writer);
        while let Some(step) = out.recv().await {
            match step {
                Out::Write { bytes, piece, then } => {
                    let Some(writer) = &mut writer else { continue };
                    match (write_slowly(writer, &bytes, piece).await, then) {
                        (Ok(()), Some(written)) => self.note(written),
                        (Ok(()), None) => {}
                        (Err(_), _) => self.record().end(session),
                    }
                }
                Out::CloseWrites => {
                    writer = None;
                    self.record().end(session);
                }
                Out::Crash => return false,
                Out::Reset => return true,
            }
        }
        false
    }

    fn note(&self, written: Written) {
        let (mut record, at) = (self.record(), Instant::now());
        match written {
            Written::Reply(key, kind) => record.replies.entry(key).or_default().push(Reply { at, kind }),
            Written::Asked(key) => {
                record.asked.insert(key, (at, 0));
            }
        }
    }
}

async fn write_slowly(writer: &mut DuplexStream, bytes: &[u8], piece: usize) -> io::Result<()> {
    for (number, piece) in bytes.chunks(piece).enumerate() {
        if number > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        writer.write_all(piece).await?;
    }
    Ok(())
}

impl Session {
    /// Reads until the client closes the connection.
    async fn read(self: &Arc<Self>, reader: DuplexStream) {
        let mut lines = BufReader::new(reader).lines();
        let mut turns = JoinSet::new();
        loop {
            let line = tokio::select! {
                line = lines.next_line() => line,
                () = self.stop_reading.notified() => break,
            };
            let Ok(Some(line)) = line else {
                self.process.record().left.insert(self.number, Instant::now());
                return;
            };
            let message: Value = serde_json::from_str(&line).expect("the client writes JSON");
            if let Some(turn) = self.take(&message) {
                let session = self.clone();
                turns.spawn(async move {
                    tokio::time::sleep(turn.after).await;
                    session.act(&message, turn.act).await;
                });
            }
        }
        drop(lines);
        self.process.record().deaf.insert(self.number, Instant::now());
        let mut life = self.process.0.life.subscribe();
        // Fails only without a process.
        let _ = life.wait_for(|life| *life != Life::Runs).await;
    }

    /// Notes a message. What is to be done about it, if anything.
    fn take(&self, message: &Value) -> Option<Turn> {
        let inner = &self.process.0;
        let mut record = inner.record.lock();
        let answer = Turn { after: Duration::ZERO, act: Act::Answer };
        match (message["method"].as_str(), id(message)) {
            (Some("tools/call"), Some(id)) => {
                let nonce = message["params"]["arguments"]["nonce"].as_u64()?;
                record.calls.entry(nonce).or_default().push((self.number, id));
                Some(inner.calls.get(&nonce).copied().unwrap_or(answer))
            }
            (Some("initialize" | "server/discover"), Some(_)) => {
                let number = inner.opened.fetch_add(1, Ordering::Relaxed);
                Some(inner.opening.get(number).copied().unwrap_or(answer))
            }
            (Some(_), Some(_)) => Some(answer),
            (Some("notifications/cancelled"), None) => {
                let id = message["params"]["requestId"].as_i64().expect("our ids are numbers");
                record.cancelled.insert((self.number, id), Instant::now());
                None
            }
            (None, Some(id)) => {
                // A complaint about what was no request is not an answer to one.
                if message["error"]["code"] != -32600
                    && let Some((_, answers)) = record.asked.get_mut(&(self.number, id))
                {
                    *answers += 1;
                }
                None
            }
            // Notifications, and complaints about messages without an id.
            _ => None,
        }
    }

    async fn act(&self, request: &Value, act: Act) {
        let id = &request["id"];
        match act {
            Act::Answer => self.answer(request, usize::MAX).await,
            Act::Hang => {}
            Act::Pieces(bytes) => self.answer(request, bytes).await,
            Act::Twice => {
                self.answer(request, usize::MAX).await;
                self.answer(request, usize::MAX).await;
            }
            Act::UnderText => {
                let mut under_text = request.clone();
                under_text["id"] = json!(id.to_string());
                let (reply, _) = self.reply(&under_text);
                // A number is never meant by a string.
                self.write_as(id, reply, usize::MAX, None).await;
            }
            Act::Batched => {
                let (reply, _) = self.reply(request);
                let batch = [b"[", &reply[..reply.len() - 1], b"]\n"].concat();
                self.write(batch).await;
                self.answer(request, usize::MAX).await;
            }
            Act::After(noise) => {
                self.noise(request, noise).await;
                self.answer(request, usize::MAX).await;
            }
            Act::Refuse(data) => {
                self.write_as(id, frames::refusal(id, data), usize::MAX, Some(Kind::Error)).await;
            }
            Act::Wrong(shape) => {
                // It cannot be told from other messages that are nobody's answer.
                let is_nobodys = shape == NEITHER;
                let kind = (!is_nobodys).then_some(Kind::Bad);
                self.write_as(id, frames::wrong(id, shape), usize::MAX, kind).await;
            }
            Act::Break(how) => self.break_by(request, how).await,
        }
    }

    async fn break_by(&self, request: &Value, how: Break) {
        let (reply, kind) = self.reply(request);
        match how {
            Break::CrashBefore => self.send(Out::Crash).await,
            Break::CrashWithin => {
                self.write(reply[..reply.len() / 2].to_vec()).await;
                self.send(Out::Crash).await;
            }
            Break::CrashAfter => {
                self.answer(request, usize::MAX).await;
                self.send(Out::Crash).await;
            }
            Break::ProcessDies => {
                self.process.0.life.send_replace(Life::Dead);
            }
            Break::CloseWrites => self.send(Out::CloseWrites).await,
            Break::LastLine => {
                let bytes = reply[..reply.len() - 1].to_vec();
                self.write_as(&request["id"], bytes, usize::MAX, kind).await;
                self.send(Out::CloseWrites).await;
            }
            Break::CloseReads => {
                self.stop_reading.notify_one();
                self.answer(request, usize::MAX).await;
            }
            Break::Reset => self.send(Out::Reset).await,
            Break::Endless => {
                // The connection gives up in the middle of it.
                self.write(vec![b'x'; MAX_FRAME_BYTES * 6]).await;
            }
        }
    }

    async fn noise(&self, request: &Value, noise: Noise) {
        let id = &request["id"];
        let bytes = match noise {
            Noise::UnknownId => frames::result(&json!(1_000_000), &frames::echo(1_000_000, 0)),
            Noise::NullId => [
                frames::result(&Value::Null, &frames::echo(1_000_000, 0)),
                frames::line(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}})),
            ]
            .concat(),
            Noise::OtherCall => {
                let own = request_nonce(request);
                let other = self.process.record().open(self.number).find(|(nonce, _)| Some(*nonce) != own);
                let Some((nonce, id)) = other else { return };
                let (id, serial) = (json!(id), self.process.serial());
                let reply = frames::result(&id, &frames::echo(nonce, serial));
                return self.write_as(&id, reply, usize::MAX, Some(Kind::Good { serial })).await;
            }
            Noise::ToNotification => {
                frames::result(&json!("notifications/initialized"), &frames::echo(1_000_000, 0))
            }
            Noise::Storm(times) => {
                for list in ["tools", "prompts"].iter().cycle().take(times) {
                    self.write(frames::note(&format!("notifications/{list}/list_changed"), &json!({}))).await;
                }
                return;
            }
            Noise::Notifications => frames::notifications(),
            Noise::Progress => [
                frames::note("notifications/progress", &json!({"progressToken": id, "progress": 1})),
                frames::note("notifications/progress", &json!({"progress": 1})),
            ]
            .concat(),
            Noise::Ask(method) => {
                let own = self.next_id.fetch_add(1, Ordering::Relaxed);
                let bytes =
                    frames::line(&json!({"jsonrpc": "2.0", "id": own, "method": method, "params": {}}));
                let then = Some(Written::Asked((self.number, own)));
                return self.send(Out::Write { bytes, piece: usize::MAX, then }).await;
            }
            Noise::Chunks(fault) => frames::chunks(id, fault),
            Noise::Garbage(garbage) => frames::garbage(garbage, MAX_FRAME_BYTES),
        };
        // A line that is too long comes as slowly as large writes do.
        let piece = if noise == Noise::Garbage(Garbage::TooLong) { 8 << 10 } else { usize::MAX };
        self.send(Out::Write { bytes, piece, then: None }).await;
    }

    /// Returns the right answer of this server; the caller notes answers to calls.
    fn reply(&self, request: &Value) -> (Vec<u8>, Option<Kind>) {
        let id = &request["id"];
        if let Some(nonce) = request_nonce(request) {
            let serial = self.process.serial();
            return (frames::result(id, &frames::echo(nonce, serial)), Some(Kind::Good { serial }));
        }
        let reply = match request["method"].as_str() {
            Some("subscriptions/listen") => frames::acknowledged(id, &request["params"]),
            Some(method @ ("initialize" | "server/discover")) => {
                frames::handshake(self.process.0.era, id, method)
            }
            _ => frames::result(id, &json!({"resultType": "complete"})),
        };
        (reply, None)
    }

    async fn answer(&self, request: &Value, piece: usize) {
        let (reply, kind) = self.reply(request);
        self.write_as(&request["id"], reply, piece, kind).await;
    }

    async fn write(&self, bytes: Vec<u8>) {
        self.send(Out::Write { bytes, piece: usize::MAX, then: None }).await;
    }

    async fn write_as(&self, id: &Value, bytes: Vec<u8>, piece: usize, kind: Option<Kind>) {
        let then = id.as_i64().and_then(|id| Some(Written::Reply((self.number, id), kind?)));
        self.send(Out::Write { bytes, piece, then }).await;
    }

    async fn send(&self, step: Out) {
        // Fails if the connection is over.
        let _ = self.out.send(step).await;
    }
}

fn request_nonce(request: &Value) -> Option<u64> {
    request["params"]["arguments"]["nonce"].as_u64()
}

/// The limit of the clients under test, so that a line can be too long without being costly.
pub(crate) const MAX_FRAME_BYTES: usize = 16 << 10;
const PIPE_BYTES: usize = 16 << 10;
/// Between the pieces of an answer.
const PAUSE: Duration = Duration::from_millis(1);
