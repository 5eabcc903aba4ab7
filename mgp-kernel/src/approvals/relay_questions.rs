//! The layer that passes a server's questions to the client whose call they are about.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Context as CallContext, Error, Request, RequestKind, Response, RpcService};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::{ElicitationSessions, check_declared, is_question};
use crate::call::calls_in_work::{ActiveCallers, CallReference, CallsInWork};

/// A layer that makes [`RelayQuestions`] services.
#[derive(Clone)]
pub(crate) struct RelayQuestionsLayer {
    calls: CallsInWork,
    elicitations: ElicitationSessions,
}

impl RelayQuestionsLayer {
    /// Makes a layer for the questions of the server that has these calls in work. The sessions that are asked are
    /// noted in `elicitations`.
    pub(crate) fn new(calls: CallsInWork, elicitations: ElicitationSessions) -> Self {
        Self { calls, elicitations }
    }
}

impl<S> Layer<S> for RelayQuestionsLayer {
    type Service = RelayQuestions<S>;

    fn layer(&self, inner: S) -> RelayQuestions<S> {
        RelayQuestions { inner, passing: self.clone() }
    }
}

/// A service that passes a server's questions to the client whose call they are about.
///
/// Sits among the services that answer the server. The call is the one on whose stream the question came. Over a byte
/// stream sessions do not say which call that is; then it is the latest call whose client can be asked this, unless
/// calls are in work for different clients, whatever each of them can be asked: a question never goes to a client whose
/// call it may not be about, and is refused with advice instead. A client is asked only what it declared. Boxes
/// questions; all else passes.
#[derive(Clone)]
pub(crate) struct RelayQuestions<S> {
    inner: S,
    passing: RelayQuestionsLayer,
}

impl<S: RpcService> Service<Request> for RelayQuestions<S> {
    type Response = Response;
    type Error = Error;
    type Future = RelayQuestionsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.kind == RequestKind::Call && is_question(&request.method) {
            return RelayQuestionsFuture::Asked { answer: Box::pin(self.passing.clone().ask(request)) };
        }
        RelayQuestionsFuture::Passed { future: self.inner.call(request) }
    }
}

impl RelayQuestionsLayer {
    async fn ask(self, question: Request) -> Result<Response, Error> {
        let call = about(&self.calls, &question).await?;
        self.elicitations.note(&question, call.session()?);
        call.outbox.call(Request::call(question.method, question.params)).await
    }
}

/// Returns the call that the question is about.
async fn about(calls: &CallsInWork, question: &Request) -> Result<CallContext, Error> {
    let calls = match calls.about(question) {
        CallReference::This(call) => {
            check_declared(call.session()?, question).await?;
            return Ok(*call);
        }
        CallReference::Another => {
            return Err(Error::invalid_request("the call that the question is about is over"));
        }
        CallReference::Unsaid => calls.callers(),
    };
    let mut refusal = Error::invalid_request("no call is in work whose client could be asked");
    match calls {
        ActiveCallers::Nobody => {}
        ActiveCallers::One(calls) => {
            for call in calls {
                match check_declared(call.session()?, question).await {
                    Ok(()) => return Ok(call),
                    Err(error) => refusal = error,
                }
            }
        }
        ActiveCallers::Several => {
            return Err(Error::invalid_request(
                "calls of several clients are in work, and nothing says which of them the question is about; ask when \
                 there is one, or serve each client by a session of its own",
            ));
        }
    }
    Err(refusal)
}

pin_project! {
    /// The future of [`RelayQuestions`].
    #[project = Projected]
    pub(crate) enum RelayQuestionsFuture<F> {
        Passed { #[pin] future: F },
        Asked { answer: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for RelayQuestionsFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Passed { future } => future.poll(cx),
            Projected::Asked { answer } => answer.as_mut().poll(cx),
        }
    }
}
