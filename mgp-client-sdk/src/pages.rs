//! Lists that come in pages.

use std::collections::VecDeque;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use mgp_types::mcp::{
    ListPromptsParams, ListResourceTemplatesParams, ListResourcesParams, ListToolsParams, Prompt,
    RequestBody, Resource, ResourceTemplate, Tool, task,
};
use mgp_types::{Error, RpcService};

use crate::Client;
use crate::call::CallFuture;

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

const MAX_PAGES: usize = 10_000;

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
            match page.and_then(|page| self.take(page)) {
                Ok(()) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
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

impl<S: RpcService, P: PagedList<Item: Unpin>> Stream for Pages<S, P>
where
    S: Unpin,
{
    type Item = Result<P::Item, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_item(cx)
    }
}

mgp_types::partial_debug!([S: RpcService, P: PagedList] Pages<S, P>, self => at_hand: self.items.len());
