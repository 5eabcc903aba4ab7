//! The layer that makes calls steps of transactions, and answers the methods of transactions.

mod compensator;
mod step;

use std::future::ready;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_lifecycle::transaction::{StepCall, TransactionBook};
use mgp_types::ext::transaction::{self, NamedTransaction, TransactionStep};
use mgp_types::{
    BoxFuture, Error, Principal, PrincipalKind, Request, RequestKind, Response, RpcService, call_once,
};
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;

use self::compensator::InnerCompensator;
use crate::handle::ServerHandle;
use crate::step_undo::StepUndo;

/// The layer that [`Server::transactions`](crate::Server::transactions) adds.
#[derive(Clone)]
pub struct TransactionLayer {
    book: TransactionBook,
    keys: IdempotencyBook,
    server: ServerHandle,
}

impl TransactionLayer {
    pub(crate) const fn new(book: TransactionBook, keys: IdempotencyBook, server: ServerHandle) -> Self {
        Self { book, keys, server }
    }
}

impl<S> Layer<S> for TransactionLayer {
    type Service = TransactionService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TransactionService { layer: self.clone(), inner, expiry: Arc::default() }
    }
}

/// The service of a [`TransactionLayer`].
#[derive(Clone)]
pub struct TransactionService<S> {
    layer: TransactionLayer,
    inner: S,
    /// The task that rolls back what expires; begun with the first request.
    expiry: Arc<OnceLock<JoinSet<()>>>,
}

impl<S: RpcService + Sync> TransactionService<S> {
    fn compensator(&self) -> Arc<InnerCompensator<S>> {
        Arc::new(InnerCompensator::new(&self.layer.keys, self.inner.clone()))
    }

    fn watch_expiry(&self) {
        self.expiry.get_or_init(|| {
            let (book, compensator) = (self.layer.book.clone(), self.compensator());
            let mut tasks = JoinSet::new();
            tasks.spawn(async move { book.run(compensator).await });
            tasks
        });
    }

    /// Answers a method of transactions.
    async fn answer(self, request: Request) -> Result<Response, Error> {
        let (book, owner) = (&self.layer.book, owner(&request));
        let id = || request.body().map(|NamedTransaction { transaction_id }| transaction_id);
        match request.method.as_str() {
            transaction::BEGIN => Response::with_body(&book.begin(&owner, &request.body()?).await?),
            transaction::COMMIT => Response::with_body(&book.commit(&owner, &id()?).await?),
            transaction::ROLLBACK => {
                Response::with_body(&book.rollback(&owner, &request.body()?, self.compensator()).await?)
            }
            _ => Response::with_body(&book.status(&owner, &id()?)?),
        }
    }

    /// Carries a step of a transaction out.
    async fn step(self, place: TransactionStep, mut request: Request) -> Result<Response, Error> {
        let tool = request.params.text("name").unwrap_or_default().into_owned();
        let call = StepCall::new("".into(), tool.as_str().into());
        let open = self.layer.book.begin_step(&owner(&request), &place, call).await?;
        let undo = Arc::new(StepUndo::default());
        request.extensions.insert_shared(Arc::clone(&undo));
        let mut outcome = call_once(self.inner, request).await;
        let Some(ended) = step::outcome(&outcome, &undo, &self.layer.server.step_rule(&tool)) else {
            return outcome;
        };
        if let Ok(response) = &mut outcome {
            step::tell(response, &open, &ended);
        }
        // The effect is there, and this process knows how to take it back; the caller is told the truth.
        if let Err(error) = open.end(ended).await {
            tracing::error!(%error, "the end of a step is kept in memory alone");
        }
        outcome
    }
}

/// Returns the principal of a request; callers without a proof are one.
fn owner(request: &Request) -> Principal {
    let nobody = || Principal::of(PrincipalKind::KeylessClient, "");
    request.context.principal.clone().unwrap_or_else(nobody)
}

impl<S: RpcService + Sync> Service<Request> for TransactionService<S> {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.watch_expiry();
        match request.method.as_str() {
            _ if request.kind == RequestKind::Notify => {}
            transaction::BEGIN | transaction::COMMIT | transaction::ROLLBACK | transaction::STATUS => {
                return Box::pin(self.clone().answer(request));
            }
            "tools/call" => {
                let meta = request.params.object("_meta").unwrap_or_default();
                match TransactionStep::read(&meta) {
                    Ok(None) => {}
                    Ok(Some(place)) => return Box::pin(self.clone().step(place, request)),
                    Err(error) => return Box::pin(ready(Err(error))),
                }
            }
            _ => {}
        }
        Box::pin(self.inner.call(request))
    }
}

mgp_types::partial_debug!(TransactionLayer, self => book: self.book);
mgp_types::partial_debug!([S] TransactionService<S>, self => layer: self.layer);
