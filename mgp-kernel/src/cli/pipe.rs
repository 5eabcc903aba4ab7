//! The pipe between a client's standard input and output and a kernel, which carries messages line by line.
//!
//! Where a question of the lost kernel is open at the client, the connection ends: the next kernel would take the
//! answer for one to a question of its own.
//!
//! A kernel that is lost is replaced by another one, at which the session is opened again: at once, or with the client's next
//! request where the kernel was stopped.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use mgp_transport::stdio;
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::time::Instant;

use super::kernel_connector::{JoinedKernel, KernelConnector};
use crate::listen::kernel_note::KernelNote;
use crate::terminal::{Failure, Result};

/// Carries lines from standard input to a kernel, and its lines to standard output. Ends when the input has ended and the
/// kernel has answered all requests, or when a kernel was stopped in whose place none may be started.
///
/// # Errors
/// There is no kernel and none can be started, or a kernel was lost in the middle of a question to the client.
pub(super) async fn carry(way: &KernelConnector<'_>) -> Result<()> {
    let unusable = |error| Failure::usage(format!("standard input and output cannot be used: {error}"));
    let mut kernel = way.reach().await?;
    way.tell(&kernel);
    let (input, mut output) = stdio::stdio().map_err(unusable)?;
    let mut input = LineReader::new(input);
    let conversation = Mutex::new(PipeConversation::default());
    let mut losses = 0;
    loop {
        let (note, joined_at) = (kernel.note.clone(), Instant::now());
        let (Ok(end) | Err(end)) = exchange(kernel, &conversation, &mut input, &mut output).await;
        let lost = match end {
            PipeEnd::ClientGone => return Ok(()),
            // A kernel that is stopped removes its note before it closes the connections of its clients.
            PipeEnd::KernelGone => note.is_some() && KernelNote::read(way.state).is_some(),
            PipeEnd::Refused => return Err(not_taken_over()),
        };
        // Lines that the client has sent to a kernel that never sent anything are sent again.
        if conversation.lock().unheard.is_empty() {
            let was_stopped = !lost && conversation.lock().has_begun;
            let why = if was_stopped { STOPPED } else { LOST };
            let unanswered = conversation.lock().lost(why).ok_or_else(not_taken_over)?;
            for line in unanswered {
                output.write_all(&line).await.map_err(unusable)?;
            }
            if conversation.lock().is_over {
                return Ok(());
            }
            if was_stopped {
                if way.starting.is_none() || !next_request(&conversation, &mut input).await {
                    return Ok(());
                }
                losses = 0;
            }
        }
        losses = if joined_at.elapsed() >= LASTING { 1 } else { losses + 1 };
        if losses > MAX_LOSSES || way.starting.is_none() {
            return Err(not_taken_over());
        }
        kernel = way.reach().await?;
        way.tell(&kernel);
    }
}

/// Waits for the next request of the client, for which a kernel is needed again. Returns `false` if there is none.
async fn next_request(
    conversation: &Mutex<PipeConversation>,
    input: &mut LineReader<impl AsyncRead + Unpin>,
) -> bool {
    while let Ok(Some(line)) = input.next().await {
        if conversation.lock().said(&line) {
            return true;
        }
    }
    false
}

fn not_taken_over() -> Failure {
    let message = "the kernel was lost, and this connection cannot continue with another kernel";
    Failure::unreachable(message).hint("let the client start `mgp serve` again")
}

/// The reason why a conversation with a kernel has ended.
enum PipeEnd {
    KernelGone,
    /// Nobody reads standard output any more.
    ClientGone,
    /// The new kernel does not open the session again.
    Refused,
}

async fn exchange(
    kernel: JoinedKernel,
    conversation: &Mutex<PipeConversation>,
    input: &mut LineReader<impl AsyncRead + Unpin>,
    output: &mut (impl AsyncWrite + Unpin),
) -> Result<PipeEnd, PipeEnd> {
    let (kernel_gone, client_gone) = (|_| PipeEnd::KernelGone, |_| PipeEnd::ClientGone);
    let JoinedKernel { reader, mut writer, .. } = kernel;
    let mut answers = LineReader::new(reader);
    let (session, repeated) = conversation.lock().begin();
    if let Some((hello, ready)) = session {
        writer.write_all(&hello).await.map_err(kernel_gone)?;
        loop {
            let line = answers.next().await.map_err(kernel_gone)?.ok_or(PipeEnd::KernelGone)?;
            match conversation.lock().heard(&line) {
                LineRecipient::Reopened => break,
                LineRecipient::NotReopened => return Err(PipeEnd::Refused),
                LineRecipient::ForClient => {}
            }
            output.write_all(&line).await.map_err(client_gone)?;
        }
        if let Some(ready) = ready {
            writer.write_all(&ready).await.map_err(kernel_gone)?;
            // Another kernel may list other things.
            for what in ["tools", "prompts", "resources"] {
                let changed =
                    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{what}/list_changed\"}}\n");
                output.write_all(changed.as_bytes()).await.map_err(client_gone)?;
            }
        }
    }
    for line in repeated {
        // A write error is ignored, because the loss of the kernel shows when it does not answer.
        let _ = writer.write_all(&line).await;
    }
    let asked = async {
        while !conversation.lock().is_over {
            match input.next().await {
                Ok(Some(line)) => {
                    conversation.lock().said(&line);
                    if writer.write_all(&line).await.is_err() {
                        // The kernel may still send something.
                        return std::future::pending::<()>().await;
                    }
                }
                Ok(None) => {
                    let rest = input.take_rest();
                    conversation.lock().is_over = true;
                    if !rest.is_empty() {
                        conversation.lock().said(&rest);
                        let _ = writer.write_all(&rest).await;
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "nothing more is carried to the kernel");
                    conversation.lock().is_over = true;
                }
            }
        }
        // The kernel closes the connection when it has answered all that it has read.
        let _ = writer.shutdown().await;
        std::future::pending::<()>().await;
    };
    let answered = async {
        while let Ok(Some(line)) = answers.next().await {
            conversation.lock().heard(&line);
            output.write_all(&line).await.map_err(client_gone)?;
        }
        Ok(PipeEnd::KernelGone)
    };
    tokio::select! {
        () = asked => Ok(PipeEnd::KernelGone),
        ended = answered => ended,
    }
}

/// The state of a conversation that is needed to continue it with another kernel.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that has happened")]
struct PipeConversation {
    /// The `initialize` request of the client, with its id.
    hello: Option<(RawId, Bytes)>,
    /// The `notifications/initialized` of the client.
    ready: Option<Bytes>,
    /// The ids of the client's requests that are not answered.
    in_work: BTreeSet<RawId>,
    /// The ids of the kernel's requests that are not answered.
    asked: BTreeSet<RawId>,
    /// The lines that the client has sent to a kernel that has sent nothing yet, and so may not have read them.
    unheard: Vec<Bytes>,
    /// True if the current kernel has sent anything.
    has_heard: bool,
    /// True if any kernel has sent anything.
    has_begun: bool,
    /// True if the session has been lost and is not open again.
    is_lost: bool,
    /// True if the client's input has ended.
    is_over: bool,
}

/// The id of a request as JSON text.
type RawId = Box<str>;

/// The recipient of a line from the kernel.
#[derive(Debug, PartialEq, Eq)]
enum LineRecipient {
    ForClient,
    /// The line answers the request that opened the session again, so it is not for the client.
    Reopened,
    /// The line refuses to open the session again.
    NotReopened,
}

/// The members of a message that the pipe looks at; all others are skipped.
#[derive(Deserialize)]
struct LineHead<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl LineHead<'_> {
    /// Returns the id of the request that a notification takes back.
    fn cancelled(&self) -> Option<&str> {
        let params: CancelledRequest<'_> = serde_json::from_str(self.params?.get()).ok()?;
        Some(params.request_id.get())
    }
}

#[derive(Deserialize)]
struct CancelledRequest<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

impl PipeConversation {
    /// Records a line from the client, and returns whether it is a request.
    fn said(&mut self, line: &Bytes) -> bool {
        if !self.has_heard && self.unheard.len() < MAX_UNHEARD && line.len() < LONGEST_HELD {
            self.unheard.push(line.clone());
        }
        let Ok(head) = serde_json::from_slice::<LineHead<'_>>(line) else { return false };
        match (head.method.as_deref(), head.id) {
            (Some(method), Some(id)) => {
                self.in_work.insert(id.get().into());
                if method == "initialize" {
                    (self.hello, self.ready) = (Some((id.get().into(), line.clone())), None);
                    self.is_lost = false;
                }
                return true;
            }
            (Some("notifications/initialized"), None) => self.ready = Some(line.clone()),
            (None, Some(id)) => _ = self.asked.remove(id.get()),
            (Some("notifications/cancelled"), None) => _ = head.cancelled().map(|id| self.in_work.remove(id)),
            _ => {}
        }
        false
    }

    /// Records a line from the kernel, and returns its recipient.
    fn heard(&mut self, line: &[u8]) -> LineRecipient {
        (self.has_heard, self.has_begun) = (true, true);
        self.unheard.clear();
        let Ok(head) = serde_json::from_slice::<LineHead<'_>>(line) else { return LineRecipient::ForClient };
        match (head.method.as_deref(), head.id) {
            (Some(_), Some(id)) => _ = self.asked.insert(id.get().into()),
            (None, Some(id)) => {
                let is_hello = self.hello.as_ref().is_some_and(|(hello, _)| **hello == *id.get());
                if self.is_lost && is_hello {
                    self.is_lost = false;
                    return if head.error.is_some() {
                        LineRecipient::NotReopened
                    } else {
                        LineRecipient::Reopened
                    };
                }
                self.in_work.remove(id.get());
            }
            (Some("notifications/cancelled"), None) => _ = head.cancelled().map(|id| self.asked.remove(id)),
            _ => {}
        }
        LineRecipient::ForClient
    }

    /// Records the loss of the kernel, and returns the errors that answer the client's open requests and say `why`. Returns
    /// `None` if the client may still answer a question of the lost kernel: another kernel could take the answer for one to a
    /// question of its own.
    fn lost(&mut self, why: &str) -> Option<Vec<Bytes>> {
        if !self.asked.is_empty() {
            return None;
        }
        (self.is_lost, self.has_heard) = (self.hello.is_some(), false);
        let answers = std::mem::take(&mut self.in_work).into_iter().map(|id| {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"{why}"}}}}"#);
            Bytes::from(line + "\n")
        });
        Some(answers.collect())
    }

    /// Records the connection to another kernel. Returns the messages that open the session again, and the lines to
    /// repeat.
    fn begin(&mut self) -> (Option<(Bytes, Option<Bytes>)>, Vec<Bytes>) {
        self.has_heard = false;
        let hello = self.hello.as_ref().filter(|_| self.is_lost);
        (hello.map(|(_, hello)| (hello.clone(), self.ready.clone())), self.unheard.clone())
    }
}

/// A reader of lines, each with its end. A line that is longer than any message is read in pieces, which are carried
/// like lines, so that the kernel reports the error.
struct LineReader<R> {
    reader: BufReader<R>,
    /// The beginning of a line whose end is not read yet.
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(CHUNK, reader), line: Vec::new() }
    }

    /// Returns the bytes behind the last line as a line, or nothing if there are none.
    fn take_rest(&mut self) -> Bytes {
        if !self.line.is_empty() {
            self.line.push(b'\n');
        }
        std::mem::take(&mut self.line).into()
    }

    /// Returns the next line, or the next piece of a long line, or `None` at the end. A line that is cut off by the end
    /// is not returned.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let room = LONGEST_HELD - self.line.len();
        (&mut self.reader).take(room as u64).read_until(b'\n', &mut self.line).await?;
        let is_whole = self.line.ends_with(b"\n") || self.line.len() >= LONGEST_HELD;
        Ok(is_whole.then(|| std::mem::take(&mut self.line).into()))
    }
}

/// The error message for requests that were open when the kernel was stopped, which stands in a JSON string without being
/// escaped, as does the next one.
const STOPPED: &str = "the kernel was stopped before it answered this, and whether it was done is not known; the next request starts a kernel again";

/// The error message for requests that were open when the kernel was lost.
const LOST: &str = "the kernel ended before it answered this, and another one has taken over; whether it was done is not known";

/// The largest number of losses in a row; more have a cause that another kernel does not remove.
const MAX_LOSSES: u32 = 5;
/// The time after which a loss begins a new row: a kernel that ran for so long was not lost for a reason that meets the
/// next one at once.
const LASTING: Duration = Duration::from_mins(1);
/// The largest number of lines that are kept to be repeated.
const MAX_UNHEARD: usize = 256;
/// The length in bytes from which a line is read in pieces and not kept; twice the longest message that a kernel takes
/// by default.
const LONGEST_HELD: usize = 128 << 20;
/// The number of bytes that are read at once.
const CHUNK: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(conversation: &mut PipeConversation, lines: &[&'static str]) {
        for line in lines {
            conversation.said(&Bytes::from_static(line.as_bytes()));
        }
    }

    const HELLO: &str = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#;
    const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

    fn in_session() -> PipeConversation {
        let mut conversation = PipeConversation::default();
        conversation.begin();
        said(&mut conversation, &[HELLO]);
        assert_eq!(
            conversation.heard(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#),
            LineRecipient::ForClient
        );
        said(&mut conversation, &[READY]);
        conversation
    }

    #[test]
    fn a_lost_kernel_leaves_calls_to_be_answered_and_a_session_to_be_opened_anew() {
        let mut conversation = in_session();
        said(&mut conversation, &[r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1}}"#]);
        assert!(conversation.unheard.is_empty());
        let answered = conversation.lost(LOST).unwrap();
        assert_eq!(answered.len(), 1);
        let answer: serde_json::Value = serde_json::from_slice(&answered[0]).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&7.into(), &(-32603).into()));
        let (session, repeated) = conversation.begin();
        assert_eq!(session.unwrap(), (HELLO.into(), Some(READY.into())));
        assert_eq!(repeated, Vec::<Bytes>::new());
        assert_eq!(conversation.heard(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#), LineRecipient::Reopened);
        assert_eq!(
            conversation.heard(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#),
            LineRecipient::ForClient
        );
    }

    #[test]
    fn what_a_kernel_never_answered_in_any_way_is_said_again() {
        let mut conversation = PipeConversation::default();
        conversation.begin();
        said(&mut conversation, &[HELLO]);
        assert!(!conversation.unheard.is_empty());
        let (session, repeated) = conversation.begin();
        assert_eq!((session, repeated), (None, vec![Bytes::from(HELLO)]));
    }

    #[test]
    fn an_open_question_of_the_kernel_lets_no_other_one_take_over() {
        let mut conversation = in_session();
        let question = br#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#;
        conversation.heard(question);
        assert!(conversation.lost(LOST).is_none());
        said(&mut conversation, &[r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#]);
        assert!(conversation.lost(LOST).is_some());
        conversation.heard(question);
        conversation
            .heard(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
        assert!(conversation.lost(LOST).is_some());
    }

    #[tokio::test]
    async fn lines_arrive_whole_and_one_that_is_cut_off_does_not() {
        let mut lines = LineReader::new(&b"one\n\ntwo\nthr"[..]);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        assert_eq!(all, ["one\n", "\n", "two\n"]);
    }

    #[tokio::test]
    async fn what_is_longer_than_any_message_is_carried_in_pieces() {
        let last = b"end\nnext\n";
        let endless = tokio::io::repeat(b'x').take((LONGEST_HELD + CHUNK) as u64);
        let mut lines = LineReader::new(endless.chain(&last[..]));
        let first = lines.next().await.unwrap().unwrap();
        assert!(first.len() >= LONGEST_HELD && !first.contains(&b'\n'), "{}", first.len());
        let mut rest = lines.next().await.unwrap().unwrap();
        if !rest.ends_with(b"\n") {
            rest = lines.next().await.unwrap().unwrap();
        }
        assert!(rest.ends_with(b"xend\n"), "{}", rest.len());
        assert_eq!(&lines.next().await.unwrap().unwrap()[..], b"next\n");
    }
}
