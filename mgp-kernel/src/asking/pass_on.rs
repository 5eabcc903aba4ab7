use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Context as CallContext, Error, Kind, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::callers::{About, Callers};
use super::{CallsInWork, Elicitations, declared};

/// Makes [`PassOn`] services.
#[derive(Clone)]
pub(crate) struct PassOnLayer {
    calls: CallsInWork,
    elicitations: Elicitations,
}

impl PassOnLayer {
    /// Passes the questions of the server that has these calls in work. Who is asked is noted in `elicitations`.
    pub(crate) fn new(calls: CallsInWork, elicitations: Elicitations) -> Self {
        Self { calls, elicitations }
    }
}

impl<S> Layer<S> for PassOnLayer {
    type Service = PassOn<S>;

    fn layer(&self, inner: S) -> PassOn<S> {
        PassOn { inner, passing: self.clone() }
    }
}

/// Passes what a server asks to the client whose call it asks about.
///
/// Sits among what answers the server. The call is the one on whose stream the question came. Over a byte stream
/// sessions do not say which that is; then it is the latest call whose client can be asked this, unless calls are in work
/// for different clients, whatever each of them can be asked: a question never goes to somebody whose call it may not be
/// about, and is refused with advice instead. A client is asked what it declared, and nothing else. Boxes questions; all
/// else passes.
#[derive(Clone)]
pub(crate) struct PassOn<S> {
    inner: S,
    passing: PassOnLayer,
}

impl<S: RpcService> Service<Request> for PassOn<S> {
    type Response = Response;
    type Error = Error;
    type Future = PassOnFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.kind == Kind::Call && declared::is_question(&request.method) {
            return PassOnFuture::Asked { answer: Box::pin(self.passing.clone().ask(request)) };
        }
        PassOnFuture::Passed { future: self.inner.call(request) }
    }
}

impl PassOnLayer {
    async fn ask(self, question: Request) -> Result<Response, Error> {
        let call = about(&self.calls, &question).await?;
        self.elicitations.note(&question, call.session()?);
        call.outbox.call(Request::call(question.method, question.params)).await
    }
}

/// The call that the question is about.
async fn about(calls: &CallsInWork, question: &Request) -> Result<CallContext, Error> {
    let calls = match calls.about(question) {
        About::This(call) => {
            declared::this(call.session()?, question).await?;
            return Ok(*call);
        }
        About::Another => return Err(Error::invalid_request("the call that the question is about is over")),
        About::Unsaid => calls.callers(),
    };
    let mut refusal = Error::invalid_request("no call is in work whose client could be asked");
    match calls {
        Callers::Nobody => {}
        Callers::One(calls) => {
            for call in calls {
                match declared::this(call.session()?, question).await {
                    Ok(()) => return Ok(call),
                    Err(error) => refusal = error,
                }
            }
        }
        Callers::Several => {
            return Err(Error::invalid_request(
                "calls of several clients are in work, and nothing says which of them the question is about; ask when \
                 there is one, or serve each client by a session of its own",
            ));
        }
    }
    Err(refusal)
}

pin_project! {
    /// The answer of [`PassOn`].
    #[project = Projected]
    pub(crate) enum PassOnFuture<F> {
        Passed { #[pin] future: F },
        Asked { answer: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for PassOnFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Passed { future } => future.poll(cx),
            Projected::Asked { answer } => answer.as_mut().poll(cx),
        }
    }
}
