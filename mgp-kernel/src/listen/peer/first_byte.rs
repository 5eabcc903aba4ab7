//! A reader that tells when its first bytes come, by which a connection becomes a client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// A reader that calls a function when its first bytes come: a peer that only holds a connection open is no client yet.
pub(crate) struct FirstByte<R> {
    inner: R,
    then: Option<Box<dyn FnOnce() + Send>>,
}

impl<R> FirstByte<R> {
    pub(crate) fn new(inner: R, then: impl FnOnce() + Send + 'static) -> Self {
        Self { inner, then: Some(Box::new(then)) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for FirstByte<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        // The call comes before the bytes are processed.
        if buffer.filled().len() > before
            && let Some(then) = self.then.take()
        {
            then();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn the_first_bytes_are_noted_once_and_an_end_is_not() {
        for (text, times) in [("hello", 1), ("", 0)] {
            let noted = Arc::new(AtomicU32::new(0));
            let mut reader = FirstByte::new(text.as_bytes(), {
                let noted = Arc::clone(&noted);
                move || _ = noted.fetch_add(1, Ordering::Relaxed)
            });
            let mut read = [0; 2];
            while reader.read(&mut read).await.unwrap() > 0 {}
            assert_eq!(noted.load(Ordering::Relaxed), times, "{text}");
        }
    }
}
