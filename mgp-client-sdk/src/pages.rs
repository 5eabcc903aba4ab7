//! Results that come in pieces: the pages of lists, and calls whose result is read while it is made (MGP §12).

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use mgp_lifecycle::call::{Sending, SendingLayer};
use mgp_stream::call::{StreamPart, StreamReader};
use mgp_types::mcp::{
    ListPromptsParams, ListResourceTemplatesParams, ListResourcesParams, ListToolsParams, Prompt,
    RequestBody, Resource, ResourceTemplate, Tool, task,
};
use mgp_types::mgp::StreamCancelled;
use mgp_types::{Error, Response, RpcService};
use tower_layer::Layer;

use crate::call::{CallFuture, ClientShared, ResultCheck, read_checked};
#[cfg(feature = "ext")]
use crate::carried::{CheckpointWatch, FirstPart, StreamCheckpoint};
use crate::{Call, Client};

/// A list that comes in pages. Only the methods of this crate implement it.
pub trait PagedList: RequestBody<Result: Send> + Clone + Unpin + sealed::Sealed {
    /// The type of the items.
    type Item;

    #[doc(hidden)]
    fn at(cursor: Option<String>) -> Self;

    #[doc(hidden)]
    fn split(page: Self::Result) -> (Vec<Self::Item>, Option<String>);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! listings {
    ($($params:ty: $items:ident of $item:ty;)+) => {$(
        impl sealed::Sealed for $params {}

        impl PagedList for $params {
            type Item = $item;

            fn at(cursor: Option<String>) -> Self {
                let mut params = Self::new();
                params.cursor = cursor;
                params
            }

            fn split(page: Self::Result) -> (Vec<$item>, Option<String>) {
                (page.$items, page.next_cursor)
            }
        }
    )+};
}

listings! {
    ListToolsParams: tools of Tool;
    ListResourcesParams: resources of Resource;
    ListResourceTemplatesParams: resource_templates of ResourceTemplate;
    ListPromptsParams: prompts of Prompt;
    task::ListTasksParams: tasks of task::Task;
}

/// The items of a list, fetched page by page as they are taken; a [`Stream`].
///
/// The stream ends after the first error.
#[must_use = "nothing is fetched unless items are taken"]
pub struct Pages<S: RpcService, P: PagedList> {
    client: Client<S>,
    fetching: Option<Fetching<S, P>>,
    items: VecDeque<P::Item>,
    /// The request for the next page, if there is one.
    next: Option<P>,
    seen: Vec<String>,
}

/// A page on its way.
type Fetching<S, P> = Pin<Box<CallFuture<S, <P as RequestBody>::Result>>>;

pub(crate) const MAX_PAGES: usize = 10_000;

impl<S: RpcService, P: PagedList> Pages<S, P> {
    pub(crate) fn new(client: Client<S>) -> Self {
        Self { client, fetching: None, items: VecDeque::new(), next: Some(P::at(None)), seen: Vec::new() }
    }

    /// Returns the next item; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<P::Item, Error>> {
        std::future::poll_fn(|cx| self.poll_item(cx)).await
    }

    /// Fetches all items.
    ///
    /// # Errors
    /// A page cannot be fetched, or the server repeats a cursor and would go on for ever.
    pub async fn all(mut self) -> Result<Vec<P::Item>, Error> {
        let mut all = Vec::new();
        while let Some(item) = self.next().await {
            all.push(item?);
        }
        Ok(all)
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<P::Item, Error>>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            let fetching = if let Some(fetching) = &mut self.fetching {
                fetching
            } else {
                let Some(next) = self.next.take() else { return Poll::Ready(None) };
                self.fetching.insert(Box::pin(self.client.send(&next).into_future()))
            };
            let page = ready!(fetching.as_mut().poll(cx));
            self.fetching = None;
            page.and_then(|page| self.take(page))?;
        }
    }

    fn take(&mut self, page: P::Result) -> Result<(), Error> {
        let (items, cursor) = P::split(page);
        self.items = items.into();
        // A cursor is opaque; an empty one is a cursor, too.
        if let Some(cursor) = cursor {
            if self.seen.contains(&cursor) || self.seen.len() >= MAX_PAGES {
                self.items.clear();
                return Err(Error::misbehaved("the server's list does not end"));
            }
            self.seen.push(cursor.clone());
            self.next = Some(P::at(Some(cursor)));
        }
        Ok(())
    }
}

impl<S: RpcService + Unpin, P: PagedList<Item: Unpin>> Stream for Pages<S, P> {
    type Item = Result<P::Item, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_item(cx)
    }
}

mgp_types::partial_debug!([S: RpcService, P: PagedList] Pages<S, P>, self => at_hand: self.items.len());

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
