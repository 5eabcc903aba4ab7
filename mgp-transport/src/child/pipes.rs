//! The stdin and stderr of a server: the pipe that a shutdown can close, and the reader of its lines.

use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use std::{io, task};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, BufReader};
use tokio::process;
use tokio::process::ChildStderr;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// The target of a server's stderr.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum StderrTarget {
    /// The stderr of this process.
    #[default]
    Inherit,
    /// No target; the text is discarded.
    Null,
    /// A function that gets each line; see [`StderrTarget::lines`].
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl StderrTarget {
    /// Hands each line to `take`, without its end. A line longer than 8 KiB comes in pieces.
    ///
    /// `take` must not block: the server may wait for room to write while it runs.
    pub fn lines(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(take))
    }

    pub(super) fn to_stdio(&self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Lines(_) => Stdio::piped(),
        }
    }
}

mgp_types::partial_debug!(StderrTarget);

/// The handle of the task that reads stderr. After the handle is dropped, the task reads on for a moment, because the
/// last lines of a server that ends say why.
#[derive(Debug)]
pub(super) struct StderrReader {
    /// The sender whose drop tells the task that the handle is gone.
    _held: oneshot::Sender<()>,
    /// The receiver that ends when everything was read.
    done: oneshot::Receiver<()>,
}

impl StderrReader {
    /// Waits until everything is read that the server wrote; for a moment only, because a process that left the server's
    /// group may keep the pipe open.
    pub(super) async fn read_to_end(&mut self) {
        if !self.done.is_terminated() {
            let _ = timeout(LAST_LINES, &mut self.done).await;
        }
    }
}

/// The time in which the last lines of a server that has ended are read.
const LAST_LINES: Duration = Duration::from_millis(500);

const AFTER_THE_END: Duration = Duration::from_secs(2);

const MAX_LINE_BYTES: u64 = 8 << 10;

/// Starts the task that reads a server's stderr. The task always reads to the end, because a server stops when the pipe
/// is full.
pub(super) fn read(pipe: ChildStderr, stderr: StderrTarget) -> Option<StderrReader> {
    let StderrTarget::Lines(take) = stderr else { return None };
    let (held, released) = oneshot::channel();
    let (read, done) = oneshot::channel::<()>();
    let reading = async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut pipe).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => take(String::from_utf8_lossy(line.trim_ascii_end()).as_ref()),
            }
        }
    };
    tokio::spawn(async move {
        // A process that left the server's group may keep the pipe open for ever.
        let given_up = async {
            let _ = released.await;
            sleep(AFTER_THE_END).await;
        };
        tokio::select! {
            () = reading => {}
            () = given_up => {}
        }
        drop(read);
    });
    Some(StderrReader { _held: held, done })
}

/// The stdin of a server. Stdin closes when it is dropped, and when the server is shut down.
#[derive(Debug)]
pub struct ChildStdin(Arc<StdinPipe>);

/// The pipe to a server, which one task writes to and the shutdown closes.
#[derive(Debug)]
pub(super) struct StdinPipe {
    /// The pipe; `None` once it is closed.
    pipe: Mutex<Option<process::ChildStdin>>,
    /// The waker of the writer that waits for room.
    waiting: AtomicWaker,
}

pub(super) fn closable(pipe: process::ChildStdin) -> (ChildStdin, Arc<StdinPipe>) {
    let shared = Arc::new(StdinPipe { pipe: Mutex::new(Some(pipe)), waiting: AtomicWaker::new() });
    (ChildStdin(Arc::clone(&shared)), shared)
}

impl StdinPipe {
    pub(super) fn close(&self) {
        let pipe = self.pipe.lock().take();
        drop(pipe);
        self.waiting.wake();
    }
}

impl ChildStdin {
    fn with_pipe<T>(
        &self,
        cx: &mut task::Context<'_>,
        act: impl FnOnce(Pin<&mut process::ChildStdin>, &mut task::Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut pipe = self.0.pipe.lock();
        let Some(pipe) = &mut *pipe else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        let outcome = act(Pin::new(pipe), cx);
        if outcome.is_pending() {
            self.0.waiting.register(cx.waker());
        }
        outcome
    }
}

impl AsyncWrite for ChildStdin {
    fn poll_write(self: Pin<&mut Self>, cx: &mut task::Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.with_pipe(cx, |pipe, cx| pipe.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        self.with_pipe(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        // A pipe is shut down by closing it.
        self.0.close();
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.with_pipe(cx, |pipe, cx| pipe.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl Drop for ChildStdin {
    fn drop(&mut self) {
        self.0.close();
    }
}
