//! The pipe between a client's standard input and output and a kernel, which carries messages line by line.
//!
//! Where a question of the lost kernel is open at the client, the connection ends: the next kernel would take the
//! answer for one to a question of its own.
//!
//! A kernel that is lost is replaced by another one, at which the session is opened again: at once, or with the client's next
//! request where the kernel was stopped. A kernel that another one is about to follow says so: what the client says from then on
//! waits for that one, and nothing is lost.

mod conversation;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use mgp_kernel_core::state::kernel_note::KernelNote;
use mgp_kernel_core::terminal::{Failure, Result};
use mgp_transport::stdio;
use parking_lot::Mutex;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::conversation::{LineRecipient, PipeConversation};
use super::kernel_connector::{JoinedKernel, KernelConnector};

/// Carries lines from standard input to a kernel, and its lines to standard output. Ends when the input has ended and the
/// kernel has closed the connection, or when a kernel was stopped in whose place none may be started.
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
        let is_over = conversation.lock().is_over;
        let is_followed = conversation.lock().is_followed;
        let was_stopped = !lost && conversation.lock().has_begun;
        let why = if was_stopped { STOPPED } else { LOST };
        let unanswered = conversation.lock().lost(why).ok_or_else(not_taken_over)?;
        // Once the input has ended, a kernel that runs closes the connection itself, and calls have little time until then.
        if is_over && !conversation.lock().is_waiting() {
            return Ok(());
        }
        for line in unanswered.into_iter().filter(|_| !is_over) {
            output.write_all(&line).await.map_err(unusable)?;
        }
        // Requests that are left are for the next kernel.
        if was_stopped && conversation.lock().may_leave() {
            if way.starting.is_none() || !next_request(&conversation, &mut input).await {
                return Ok(());
            }
            losses = 0;
        }
        losses = match joined_at.elapsed() {
            _ if is_followed => 0,
            lasted if lasted >= LASTING => 1,
            _ => losses + 1,
        };
        if losses > MAX_LOSSES || !is_followed && way.starting.is_none() {
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
    let session = conversation.lock().begin();
    if let Some((hello, ready)) = session {
        writer.write_all(&hello).await.map_err(kernel_gone)?;
        loop {
            let line = answers.next().await.map_err(kernel_gone)?.ok_or(PipeEnd::KernelGone)?;
            match conversation.lock().heard(&line) {
                LineRecipient::Reopened => break,
                LineRecipient::NotReopened => return Err(PipeEnd::Refused),
                LineRecipient::Pipe => continue,
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
    let unheard = conversation.lock().tell();
    for line in unheard {
        // A write error is ignored, because the loss of the kernel shows when it does not answer.
        let _ = writer.write_all(&line).await;
    }
    let followed = Notify::new();
    let asked = async {
        while conversation.lock().goes_on() {
            let said = tokio::select! {
                said = input.next() => said,
                () = followed.notified() => continue,
            };
            match said {
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
        while !conversation.lock().may_leave() {
            followed.notified().await;
        }
        // The kernel closes the connection when it has answered all that it has read.
        let _ = writer.shutdown().await;
        std::future::pending::<()>().await;
    };
    let answered = async {
        while let Ok(Some(line)) = answers.next().await {
            if conversation.lock().heard(&line) != LineRecipient::Pipe {
                output.write_all(&line).await.map_err(client_gone)?;
            }
            if conversation.lock().is_followed {
                followed.notify_one();
            }
        }
        Ok(PipeEnd::KernelGone)
    };
    tokio::select! {
        () = asked => Ok(PipeEnd::KernelGone),
        ended = answered => ended,
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
/// The length in bytes from which a line is read in pieces and not kept; twice the longest message that a kernel takes
/// by default.
const LONGEST_HELD: usize = 128 << 20;
/// The number of bytes that are read at once.
const CHUNK: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

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
