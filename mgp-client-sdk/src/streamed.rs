//! Calls whose result is read while it is made (MGP §12).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use mgp_lifecycle::call::{Sending, SendingLayer};
use mgp_stream::call::{StreamPart, StreamReader};
use mgp_types::mgp::StreamCancelled;
use mgp_types::{Error, Response, RpcService};
use tower_layer::Layer;

use crate::Call;
use crate::call::{ClientShared, ResultCheck, read_checked};
#[cfg(feature = "ext")]
use crate::carried::{CheckpointWatch, FirstPart, StreamCheckpoint};

/// A call whose result is read while it is made (MGP §12): a [`Stream`] of its parts, and the result.
///
/// A server that does not stream sends no parts; the result is there all the same, and complete. Dropping the value
/// takes the call back.
#[must_use = "a call goes on only while it is read"]
pub struct StreamedCall<S: RpcService, T> {
    reader: StreamReader<Sending<S>>,
    check: Option<ResultCheck>,
    read: fn(&Response) -> Result<T, Error>,
    #[cfg(feature = "ext")]
    checkpoint: CheckpointWatch,
    // The handle keeps the connection open if the client is dropped first.
    shared: Arc<ClientShared>,
}

impl<S: RpcService, T> Call<S, T> {
    /// Makes the call and asks for parts of its result as they come.
    ///
    /// Each part gives the call another [`timeout`](Self::timeout). A report of progress comes as a part where the
    /// server speaks MGP; [`on_progress`](Self::on_progress) gets none.
    ///
    /// # Errors
    /// The params cannot be written.
    pub fn stream(self) -> Result<StreamedCall<S, T>, Error> {
        let mut request = self.request?;
        request.context.session = self.shared.agreement.session();
        #[cfg(feature = "ext")]
        let first = request.extensions.get::<FirstPart>().map_or(0, |first| first.0);
        #[cfg(not(feature = "ext"))]
        let first = 0;
        let service = SendingLayer::new().attempt_timeout(self.timeout, self.max_timeout).layer(self.stack);
        Ok(StreamedCall {
            reader: StreamReader::open_at(service, request, first),
            check: self.check,
            read: self.read,
            #[cfg(feature = "ext")]
            checkpoint: CheckpointWatch { next: first, ..CheckpointWatch::default() },
            shared: self.shared,
        })
    }
}

impl<S: RpcService, T> StreamedCall<S, T> {
    /// Returns the next part; `None` when the result is there.
    pub async fn next(&mut self) -> Option<StreamPart> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Waits for the result. Parts that were not taken are dropped.
    ///
    /// # Errors
    /// The call failed.
    pub async fn finish(self) -> Result<T, Error> {
        let _shared = self.shared;
        let response = self.reader.finish().await?;
        read_checked(&response, self.check.as_ref(), self.read)
    }

    /// Returns the last place from which another call can go on; `None` if the server has told of none. With
    /// [`Call::resume`], another call goes on from there.
    #[cfg(feature = "ext")]
    pub fn checkpoint(&self) -> Option<&StreamCheckpoint> {
        self.checkpoint.newest.as_ref()
    }

    /// Asks the server to stop the call, and returns the part of the result that there is.
    ///
    /// Over HTTP without sessions every request stands alone, so none can name another; the answer is then that there
    /// is no such call, and dropping this value stops it.
    ///
    /// # Errors
    /// The connection is lost, or the server does not stop calls.
    pub async fn cancel(&mut self, reason: Option<&str>) -> Result<StreamCancelled, Error> {
        self.reader.cancel(reason).await
    }
}

impl<S: RpcService, T> Stream for StreamedCall<S, T> {
    type Item = StreamPart;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StreamPart>> {
        let this = self.get_mut();
        let part = Pin::new(&mut this.reader).poll_next(cx);
        #[cfg(feature = "ext")]
        if let Poll::Ready(Some(part)) = &part {
            this.checkpoint.note(part);
        }
        part
    }
}

mgp_types::partial_debug!([S: RpcService, T] StreamedCall<S, T>, self => reader: self.reader);
