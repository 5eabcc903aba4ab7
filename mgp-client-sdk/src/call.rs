//! A call that is ready to be sent, its settings, and its future.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_transport::era::Agreement;
use mgp_types::mcp::meta::key;
use mgp_types::mcp::{MetaValue, ProgressParams};
use mgp_types::{Error, Id, RawJson, Request, Response, RpcService};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};

use crate::changes::ProgressWatch;
use crate::connection_handle::ConnectionHandle;
use crate::handlers::{AnswerFn, NotificationListeners, Roots};

/// A call that is ready to be sent: `.await` sends it.
///
/// Dropping the future takes the call back; the server is notified where the transport can.
#[must_use = "a call does nothing unless it is awaited"]
pub struct Call<S, T> {
    pub(crate) stack: S,
    pub(crate) shared: Arc<ClientShared>,
    pub(crate) request: Result<Request, Error>,
    pub(crate) timeout: Duration,
    pub(crate) max_timeout: Duration,
    report: Option<Report>,
    pub(crate) check: Option<ResultCheck>,
    pub(crate) read: fn(&Response) -> Result<T, Error>,
}

/// The state that the clones of one [`Client`](crate::Client) and its calls share.
pub(crate) struct ClientShared {
    pub(crate) agreement: Agreement,
    pub(crate) listeners: NotificationListeners,
    /// Held while a subscription waits for its acknowledgement.
    pub(crate) subscribing: tokio::sync::Mutex<()>,
    pub(crate) roots: Option<Roots>,
    /// The service that answers the questions of the server's tasks.
    pub(crate) answering: AnswerFn,
    pub(crate) timeouts: (Duration, Duration),
    pub(crate) link: Mutex<Option<ConnectionHandle>>,
}

type Report = Box<dyn FnMut(ProgressParams) + Send>;

/// A look at a result before it is read.
pub(crate) type ResultCheck = Box<dyn Fn(&Response) -> Result<(), Error> + Send>;

/// Reads a result that passes its check.
pub(crate) fn read_checked<T>(
    response: &Response,
    check: Option<&ResultCheck>,
    read: fn(&Response) -> Result<T, Error>,
) -> Result<T, Error> {
    check.map_or(Ok(()), |check| check(response)).and_then(|()| read(response))
}

impl<S: RpcService, T> Call<S, T> {
    pub(crate) fn new(
        stack: S,
        shared: Arc<ClientShared>,
        request: Result<Request, Error>,
        read: fn(&Response) -> Result<T, Error>,
    ) -> Self {
        let (timeout, max_timeout) = shared.timeouts;
        Self { stack, shared, request, timeout, max_timeout, report: None, check: None, read }
    }

    /// Reads the result in another way.
    #[cfg(feature = "ext")]
    pub(crate) fn read_as<U>(self, read: fn(&Response) -> Result<U, Error>) -> Call<S, U> {
        let Self { stack, shared, request, timeout, max_timeout, report, check, read: _ } = self;
        Call { stack, shared, request, timeout, max_timeout, report, check, read }
    }

    mgp_types::setters! { self =>
        /// Sets how long to wait for the answer, or for the next report of progress. Default: 60 s.
        pub fn timeout(timeout: Duration) => self.timeout = timeout;

        /// Sets how long to wait in all, however much progress is reported. Default: 600 s.
        pub fn max_timeout(timeout: Duration) => self.max_timeout = timeout;

        /// Asks for progress, and calls `report` with each report, in order and before the answer.
        ///
        /// Each report gives the call another [`timeout`](Self::timeout).
        pub fn on_progress(report: impl FnMut(ProgressParams) + Send + 'static) =>
            self.report = Some(Box::new(report));
    }

    /// Puts a value into the request's `_meta`, under the key of its type. A handler reads it by `Cx::meta_value`.
    ///
    /// ```
    /// use mgp_client_sdk::Client;
    /// use mgp_client_sdk::mcp::MetaValue;
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Tenant {
    ///     name: String,
    /// }
    ///
    /// impl MetaValue for Tenant {
    ///     const KEY: &'static str = "com.example/tenant";
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # use mgp_server_sdk::{Cx, Server, Tool, ToolError};
    /// # let search = async |cx: Cx| {
    /// #     Ok::<_, ToolError>(cx.meta_value::<Tenant>()?.map_or("of nobody".into(), |tenant| tenant.name))
    /// # };
    /// # let server = Server::new("search", "1.0.0").tool(Tool::new("search", "Searches."), search);
    /// # let client = Client::of(server.accept()?).await?;
    /// let tenant = Tenant { name: "blue".into() };
    /// let found = client.call_tool("search", ()).meta_value(&tenant).await?;
    /// # assert_eq!(found.content[0].as_text(), Some("blue"));
    /// # let found = client.call_tool("search", ()).await?;
    /// # assert_eq!(found.content[0].as_text(), Some("of nobody"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn meta_value<V: MetaValue>(mut self, value: &V) -> Self {
        match RawJson::from_value(value) {
            Ok(written) => self.meta(V::KEY, written),
            Err(error) => {
                let cannot = format!("`{}` in `_meta` cannot be written as JSON", V::KEY);
                self.request = self.request.and(Err(Error::invalid_params(cannot).with_source(error)));
                self
            }
        }
    }

    /// Puts a member into the request's `_meta`; [`meta_value`](Self::meta_value) is for types with a key.
    pub fn meta(self, name: impl Into<Cow<'static, str>>, value: RawJson) -> Self {
        self.request_with(|request| request.meta_mut_or_new().set(name, value))
    }

    /// Changes the parts of the request that have no method here: its extensions, its context, members of its params.
    pub fn request_with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        if let Ok(request) = &mut self.request {
            change(request);
        }
        self
    }
}

impl<S: RpcService, T> IntoFuture for Call<S, T> {
    type Output = Result<T, Error>;
    type IntoFuture = CallFuture<S, T>;

    fn into_future(mut self) -> CallFuture<S, T> {
        let progress = self.report.take().map(|report| {
            let watch = self.shared.listeners.progress.watch();
            if let Ok(request) = &mut self.request {
                let token = Id::Number(watch.token).to_raw();
                request.meta_mut_or_new().set(key::PROGRESS_TOKEN, token);
            }
            Progress { watch, report }
        });
        CallFuture {
            stack: self.stack,
            request: Some(self.request),
            answer: None,
            deadline: None,
            timeout: self.timeout,
            max_timeout: self.max_timeout,
            last: None,
            progress,
            check: self.check,
            read: self.read,
            shared: self.shared,
        }
    }
}

mgp_types::partial_debug!([S, T] Call<S, T>, self => request: self.request);

pin_project! {
    /// The future of a [`Call`].
    #[must_use = "a call does nothing unless it is awaited"]
    pub struct CallFuture<S: RpcService, T> {
        stack: S,
        request: Option<Result<Request, Error>>,
        #[pin]
        answer: Option<S::Future>,
        // Only a call that has to wait gets a timer.
        #[pin]
        deadline: Option<Sleep>,
        timeout: Duration,
        max_timeout: Duration,
        last: Option<Instant>,
        progress: Option<Progress>,
        check: Option<ResultCheck>,
        read: fn(&Response) -> Result<T, Error>,
        // The handle keeps the connection open if the client is dropped first.
        shared: Arc<ClientShared>,
    }
}

/// The reports of progress about a call.
struct Progress {
    watch: ProgressWatch,
    report: Report,
}

impl Progress {
    /// Calls the callback with all reports that have come; returns whether there were any.
    fn tell(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        while let Some(report) = self.watch.next(cx) {
            (self.report)(report);
            any = true;
        }
        any
    }
}

impl<S: RpcService, T> Future for CallFuture<S, T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(request) = this.request.take().transpose()? {
            match this.stack.poll_ready(cx)? {
                Poll::Ready(()) => this.answer.set(Some(this.stack.call(request))),
                Poll::Pending => *this.request = Some(Ok(request)),
            }
        }
        if let Some(answer) = this.answer.as_mut().as_pin_mut()
            && let Poll::Ready(outcome) = answer.poll(cx)
        {
            this.answer.set(None);
            // The callback gets every report that came before the answer.
            if let Some(progress) = this.progress {
                progress.tell(cx);
            }
            let read = |response| read_checked(&response, this.check.as_ref(), *this.read);
            return Poll::Ready(outcome.and_then(read));
        }
        let progressed = this.progress.as_mut().is_some_and(|progress| progress.tell(cx));
        if this.deadline.is_none() {
            let first = (*this.timeout).min(*this.max_timeout);
            *this.last = Some(from_now(*this.max_timeout));
            this.deadline.set(Some(tokio::time::sleep_until(from_now(first))));
        }
        let Some(mut deadline) = this.deadline.as_mut().as_pin_mut() else { return Poll::Pending };
        if progressed {
            let next = from_now(*this.timeout);
            deadline.as_mut().reset(this.last.map_or(next, |last| next.min(last)));
        }
        if deadline.poll(cx).is_pending() {
            return Poll::Pending;
        }
        // Dropping the call takes it back.
        this.answer.set(None);
        Poll::Ready(Err(Error::timeout("the server did not answer in time")))
    }
}

/// The longest wait: thirty years.
const FOREVER: Duration = Duration::from_hours(30 * 365 * 24);

/// Returns the moment `duration` from now. Callers use `Duration::MAX` for no limit, which no clock can represent.
fn from_now(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration).unwrap_or(now + FOREVER)
}

mgp_types::partial_debug!([S: RpcService, T] CallFuture<S, T>, self => sent: self.answer.is_some());
