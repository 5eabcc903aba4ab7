//! The stdin of a server, which the shutdown can close while another task owns it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use tokio::process;

/// The stdin of a server. Stdin closes when it is dropped, and when the server is shut down.
#[derive(Debug)]
pub struct ChildStdin(Arc<Mutex<State>>);

/// The handle by which the shutdown closes the stdin that another task writes to.
#[derive(Debug)]
pub(super) struct Closer(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The pipe; `None` once it is closed.
    pipe: Option<process::ChildStdin>,
    /// The waker of the writer that waits for room.
    waiting: Option<Waker>,
}

pub(super) fn closable(pipe: process::ChildStdin) -> (ChildStdin, Closer) {
    let state = Arc::new(Mutex::new(State { pipe: Some(pipe), waiting: None }));
    (ChildStdin(Arc::clone(&state)), Closer(state))
}

impl Closer {
    pub(super) fn close(&self) {
        let (pipe, waiting) = {
            let mut state = self.0.lock();
            (state.pipe.take(), state.waiting.take())
        };
        drop(pipe);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

impl ChildStdin {
    fn with_pipe<T>(
        &self,
        cx: &mut task::Context<'_>,
        act: impl FnOnce(Pin<&mut process::ChildStdin>, &mut task::Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut state = self.0.lock();
        let Some(pipe) = &mut state.pipe else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        let outcome = act(Pin::new(pipe), cx);
        if outcome.is_pending() {
            state.waiting = Some(cx.waker().clone());
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
        let pipe = self.0.lock().pipe.take();
        drop(pipe);
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
        let pipe = self.0.lock().pipe.take();
        drop(pipe);
    }
}
