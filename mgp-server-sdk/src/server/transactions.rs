//! Calls that have their effect once, and transactions: the layer that makes calls their steps and answers their methods.

use std::borrow::Cow;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use mgp_lifecycle::idempotency::{IdempotencyBook, IdempotencyLayer, IdempotencyService};
use mgp_lifecycle::transaction::{
    CompensationCall, Compensator, OpenStep, StepCall, StepOutcome, TransactionBook,
};
use mgp_types::ext::transaction::{self, NamedTransaction, StepResult, StepStatus, TransactionStep};
use mgp_types::ext::{Compensation, ExtensionId, IdempotencyTtl, IdempotentCall, StructuredError};
use mgp_types::{
    BoxFuture, CallEnding, Error, Method, Object, Origin, Principal, PrincipalKind, RawJson, Request,
    RequestKind, Response, Revision, RpcService, Session, call_once, code,
};
use tokio::task::JoinSet;
use tower_layer::{Layer, Stack};
use tower_service::Service;

use super::Server;
use crate::cx::StepUndo;
use crate::error::Fault;
use crate::server_shared::ServerHandle;
use crate::tool::ToolEntry;

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
    /// after this, in the name of the one that began the transaction. A tool that a person has to confirm is not called:
    /// its step counts as not taken back, and the client makes the call itself.
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
        let (book, server) = (transactions.clone(), self.handle());
        let layer = TransactionLayer { book, keys: keys.clone(), server };
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

mgp_types::layer!(
    TransactionLayer, self, inner => TransactionService { layer: self.clone(), inner, expiry: Arc::default() }
);

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
        let service = IdempotencyLayer::new(self.layer.keys.clone()).layer(self.inner.clone());
        Arc::new(InnerCompensator { service, session: Arc::new(Session::new(Revision::LATEST)) })
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
        let Some(ended) = step_outcome(&outcome, &undo, entry.as_deref()) else { return outcome };
        if let Ok(response) = &mut outcome {
            tell(response, &open, &ended);
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
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::ready_as_inner!();

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

/// Returns how a step that called `tool` ended; `None` where nobody knows.
fn step_outcome(
    outcome: &Result<Response, Error>,
    undo: &StepUndo,
    tool: Option<&ToolEntry>,
) -> Option<StepOutcome> {
    if let (Some(arguments), Some(undoing)) = (undo.0.lock().take(), tool.and_then(ToolEntry::undone_by)) {
        // A handler that says how its effect is taken back has had one, however it ends.
        return Some(StepOutcome::Undoable(Compensation::new(undoing, arguments)));
    }
    match outcome {
        Ok(response) if response.result.ending() != CallEnding::Done => Some(StepOutcome::Failed),
        Ok(_) if tool.is_some_and(ToolEntry::is_read_only) => Some(StepOutcome::Harmless),
        Ok(_) => Some(StepOutcome::Final),
        Err(error) if matches!(error.origin(), Origin::Local | Origin::Peer | Origin::InputRequired) => {
            Some(StepOutcome::Failed)
        }
        Err(_) => None,
    }
}

/// Writes into the result of a call what it has to do with its transaction.
fn tell(response: &mut Response, open: &OpenStep, outcome: &StepOutcome) {
    let status = match response.result.ending() {
        CallEnding::Done => StepStatus::Ok,
        CallEnding::Failed => StepStatus::Failed,
        CallEnding::Asking => return,
    };
    let mut word = StepResult::new(open.transaction_id().clone(), open.step_id().clone(), status);
    if let StepOutcome::Undoable(compensation) = outcome {
        word.compensation = Some(compensation.clone());
    }
    response.change_meta(|meta| {
        if status == StepStatus::Failed {
            word.error = meta.get("error").and_then(|error| StructuredError::read(&error));
        }
        word.write(meta);
    });
}

/// Makes the calls through the layers further in, each with its key.
#[derive(Clone)]
struct InnerCompensator<S> {
    service: IdempotencyService<S>,
    session: Arc<Session>,
}

impl<S: RpcService + Sync> Compensator for InnerCompensator<S> {
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>> {
        let service = self.service.clone();
        let tool = call.compensation.tool.clone();
        let request = request(call, Arc::clone(&self.session));
        Box::pin(async move {
            let outcome = call_once(service, request).await;
            let response = outcome.map_err(|error| match error.code() {
                code::CONFIRMATION_REQUIRED => unconfirmed(&tool),
                _ => error,
            })?;
            match response.result.ending() {
                CallEnding::Done => Ok(()),
                CallEnding::Asking => Err(Error::new(
                    code::UPSTREAM_ERROR,
                    "the tool that takes the step back asks for input, which nobody can give",
                )),
                CallEnding::Failed => Err(failure(&response)),
            }
        })
    }
}

/// Returns the error of a step that only a call takes back which a person has to confirm: a rollback asks nobody.
fn unconfirmed(tool: &str) -> Error {
    let message = format!(
        "a person has to confirm `{tool}`, and a rollback asks nobody: call `{tool}` with the arguments of the step's \
         `compensation`"
    );
    Error::new(code::CONFIRMATION_REQUIRED, message)
}

fn request(call: CompensationCall, session: Arc<Session>) -> Request {
    let mut meta = Object::new();
    IdempotentCall::new(call.key).write(&mut meta);
    let name = RawJson::from_text(&call.compensation.tool);
    let arguments = call.compensation.arguments.to_raw();
    let params = Object::from([("name", name), ("arguments", arguments), ("_meta", meta.to_raw())]);
    let mut request = Request::call(Method::TOOLS_CALL, params);
    request.context.principal = Some(call.owner);
    request.context.session = Some(session);
    request
}

/// Returns the error that a failed result tells.
fn failure(response: &Response) -> Error {
    let result = Object::from_raw(&response.result).unwrap_or_default();
    let structured = result.object("_meta").and_then(|meta| StructuredError::read(&meta.get("error")?));
    let reason = structured.map(|error| String::from(error.message)).or_else(|| first_text(&result));
    let message = reason.unwrap_or_else(|| "the tool that takes the step back failed".to_owned());
    Error::new(code::UPSTREAM_ERROR, message)
}

fn first_text(result: &Object) -> Option<String> {
    let blocks: Vec<Object> = result.get("content")?.to().ok()?;
    let text = blocks.iter().find_map(|block| block.text("text").map(Cow::into_owned))?;
    Some(text.chars().take(MAX_CHARACTERS).collect())
}

/// The most characters of a failed result that are told.
const MAX_CHARACTERS: usize = 500;
