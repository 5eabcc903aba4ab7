//! Input that a future ends.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::BoxFuture;
use tokio::io::{AsyncRead, ReadBuf};

/// Input that ends when a future is done, if it does not end before. A [`Connection`](crate::Connection) that reads it
/// writes the waiting messages, and closes.
pub struct ReadUntil<R> {
    reader: R,
    /// The future; `None` once it is done.
    end: Option<BoxFuture<'static, ()>>,
}

impl<R> ReadUntil<R> {
    /// Creates the input that `reader` brings until `end`.
    pub fn new(reader: R, end: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { reader, end: Some(Box::pin(end)) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ReadUntil<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(end) = &mut self.end
            && end.as_mut().poll(cx).is_ready()
        {
            self.end = None;
        }
        match self.end {
            Some(_) => Pin::new(&mut self.reader).poll_read(cx, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

mgp_types::partial_debug!([R] ReadUntil<R>, self => ended: self.end.is_none());

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn input_ends_when_it_is_told_to() {
        let (mut near, far) = tokio::io::duplex(64);
        let (end, ended) = oneshot::channel::<()>();
        let mut input = ReadUntil::new(far, async {
            let _ = ended.await;
        });
        near.write_all(b"abc").await.unwrap();
        let mut read = [0; 3];
        input.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"abc");
        end.send(()).unwrap();
        let mut rest = Vec::new();
        assert_eq!(input.read_to_end(&mut rest).await.unwrap(), 0);
    }
}
