//! Calls that have their effect once, and transactions: the layer that makes calls their steps and answers their methods.

mod compensator;
mod step;

use std::future::ready;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use mgp_lifecycle::idempotency::{IdempotencyBook, IdempotencyLayer};
use mgp_lifecycle::transaction::{StepCall, TransactionBook};
use mgp_types::ext::transaction::{self, NamedTransaction, TransactionStep};
use mgp_types::ext::{ExtensionId, IdempotencyTtl};
use mgp_types::{
    BoxFuture, Error, Principal, PrincipalKind, RawJson, Request, RequestKind, Response, RpcService,
    call_once,
};
use tokio::task::JoinSet;
use tower_layer::{Layer, Stack};
use tower_service::Service;

use self::compensator::InnerCompensator;
use super::Server;
use crate::cx::StepUndo;
use crate::error::Fault;
use crate::handle::ServerHandle;

impl<L> Server<L> {
    /// Carries calls with an idempotency key out once, and answers those that come again with the first result.
    ///
    /// Layers that decide who may call are to be added before, and so lie further out: they see calls that come again, too.
    pub fn idempotency(self, keys: &IdempotencyBook) -> Server<Stack<IdempotencyLayer, L>> {
        let (usual, most) = (IdempotencyTtl::default().seconds(), IdempotencyTtl::MAX.seconds());
        let settings = format!(r#"{{"default_ttl_seconds":{usual},"max_ttl_seconds":{most}}}"#);
        self.extension(ExtensionId::Idempotency.id(), RawJson::from_written(settings.into_bytes()))
            .layer(IdempotencyLayer::new(keys.clone()))
    }

    /// Serves transactions: the methods `transaction/begin`, `commit`, `rollback` and `status`, and calls that are steps of
    /// one. Transactions need [idempotency](Self::idempotency), which is served with them.
    ///
    /// A tool says with [`Tool::undone_by`](crate::Tool::undone_by) which tool takes its effect back, and its handler with
    /// [`Cx::undo_with`](crate::Cx::undo_with) which arguments that takes. Such a call passes the layers that are added
    /// after this, in the name of the one that began the transaction.
    ///
    /// There is no isolation: what a step does is seen by everybody at once.
    ///
    /// ```
    /// use mgp_lifecycle::idempotency::IdempotencyBook;
    /// use mgp_lifecycle::transaction::TransactionBook;
    /// use mgp_server_sdk::{Cx, Object, Server, Tool};
    ///
    /// let (transactions, keys) = (TransactionBook::in_memory(), IdempotencyBook::in_memory());
    /// let server = Server::new("tickets", "1.0.0")
    ///     .transactions(&transactions, &keys)
    ///     .tool(Tool::new("create", "Creates a ticket.").undone_by("delete"), async |_: Object, cx: Cx| {
    ///         // … the ticket is created …
    ///         let mut arguments = Object::new();
    ///         arguments.set("id", mgp_server_sdk::RawJson::from_text("PROJ-42"));
    ///         cx.undo_with(arguments);
    ///         "PROJ-42"
    ///     })
    ///     .tool(Tool::new("delete", "Deletes a ticket.").idempotent(), async |_: Object| "gone");
    /// # server.into_service()?;
    /// # Ok::<(), mgp_server_sdk::Error>(())
    /// ```
    ///
    /// Both books are in memory, or both are stored: a process that went on with stored transactions and without their keys
    /// might take a step back twice. Else the server cannot be served.
    pub fn transactions(
        mut self,
        transactions: &TransactionBook,
        keys: &IdempotencyBook,
    ) -> Server<Stack<TransactionLayer, Stack<IdempotencyLayer, L>>> {
        if transactions.is_stored() && !keys.is_stored() {
            let fault = "they are stored, and the keys of calls are not: open both books in a store";
            self.parts.faults.push(Fault::new("transactions", fault));
        }
        let settings = RawJson::from_written(br#"{"max_timeout_seconds":3600}"#.to_vec());
        let layer = TransactionLayer::new(transactions.clone(), keys.clone(), self.handle());
        self.extension(ExtensionId::Transactions.id(), settings).idempotency(keys).layer(layer)
    }
}

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
        let entry = self.layer.server.tool_entry(&tool);
        let Some(ended) = step::outcome(&outcome, &undo, entry.as_deref()) else { return outcome };
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
