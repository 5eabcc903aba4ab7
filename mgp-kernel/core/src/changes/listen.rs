//! The serving of `subscriptions/listen`, by which clients without sessions hear of changes.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mgp_types::mcp::task_extension::EXTENSION_ID;
use mgp_types::mcp::{SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams};
use mgp_types::mgp::ServerId;
use mgp_types::{
    BoxFuture, Context, Error, Method, Object, Origin, Outbox, OutboxPort, RawJson, Request, Response,
    Session, StreamId, code,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::listener::{ChangeListener, ChangeMessage, ListenFilter, WantedResource};
use super::watch::{PAUSE, ResourceKey};
use super::{ChangeListeners, MAX_REQUESTS, MAX_SUBSCRIPTIONS, connection_of};
use crate::servers::task_table::has_ended;
use crate::servers::upstream::{ConnectionKey, ListKind};
use crate::visibility::{CallerView, Visibility};

/// Serves `subscriptions/listen`: acknowledges what is honoured, then notifies of changes until the request is dropped
/// or the kernel ends it.
pub(crate) async fn listen(
    changes: Arc<ChangeListeners>,
    visibility: Arc<Visibility>,
    request: Request,
) -> Result<Response, Error> {
    let view = CallerView::of(&visibility, &request.context)?;
    let params: SubscriptionsListenParams = request.body()?;
    let asked = params.notifications;
    let mut honoured = SubscriptionFilter::new();
    honoured.tools_list_changed = asked.tools_list_changed.filter(|wanted| *wanted);
    honoured.prompts_list_changed = asked.prompts_list_changed.filter(|wanted| *wanted);
    honoured.resources_list_changed = asked.resources_list_changed.filter(|wanted| *wanted);
    let lists = [honoured.tools_list_changed, honoured.prompts_list_changed, honoured.resources_list_changed];
    let lists = ListKind::ALL.into_iter().zip(lists).filter_map(|(kind, wanted)| wanted.and(Some(kind)));
    let mut wanted = ListenFilter { lists: lists.collect(), ..ListenFilter::default() };
    if let Some(mut uris) = asked.resource_subscriptions {
        uris.truncate(MAX_SUBSCRIPTIONS);
        watch_all(&changes, &view, &request.context, &uris, &mut wanted).await;
        uris.retain(|uri| wanted.uris.values().any(|wish| *wish.shown == **uri));
        honoured.resource_subscriptions = Some(uris);
    }
    // Listening starts before the acknowledgement, so that no change after it is missed.
    let listener = Arc::new(ChangeListener::request(view.principal.clone(), wanted));
    changes.add(&listener)?;
    // The relays end with the request.
    let mut relayed = JoinSet::new();
    if let Some(tasks) = asked.task_ids {
        honoured.task_ids = Some(relay_tasks(&changes, &listener, &request.context, tasks, &mut relayed)?);
    }
    let outbox = request.context.outbox;
    let acknowledged = Object::from_value(&SubscriptionsAcknowledgedParams::new(honoured))
        .map_err(|error| Error::internal("the acknowledgement is not JSON").with_source(error))?;
    outbox.notify(Request::notify(Method::ACKNOWLEDGED, acknowledged)).await?;
    while let Some(message) = listener.mailbox.next().await {
        outbox.notify(message).await?;
    }
    Ok(Response::empty())
}

impl ChangeListeners {
    /// Answers all requests that listen, which ends them in good order.
    pub(crate) fn end(&self) {
        for listener in self.requests.lock().drain(..).filter_map(|request| request.upgrade()) {
            listener.mailbox.close();
        }
    }

    /// Registers the listener, which is notified for as long as it is held.
    fn add(&self, listener: &Arc<ChangeListener>) -> Result<(), Error> {
        let mut requests = self.requests.lock();
        requests.retain(|request| request.strong_count() > 0);
        if requests.len() >= MAX_REQUESTS {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many requests listen already"));
        }
        requests.push(Arc::downgrade(listener));
        Ok(())
    }
}

/// Subscribes to the resources that the caller may see. Resources whose servers take too long are left out.
async fn watch_all(
    changes: &Arc<ChangeListeners>,
    view: &CallerView<'_>,
    context: &Context,
    uris: &[String],
    wanted: &mut ListenFilter,
) {
    let snapshot = view.visibility.catalog.snapshot();
    let deadline = Instant::now() + LONGEST;
    let mut asked = JoinSet::<Option<(ResourceKey, WantedResource)>>::new();
    for shown in uris {
        let Some(owner) = view.resource_owner(&snapshot, shown) else { continue };
        if asked.len() >= AT_ONCE {
            wanted.uris.extend(asked.join_next().await.and_then(Result::ok).flatten());
        }
        let (changes, context, principal) = (Arc::clone(changes), context.clone(), view.principal.clone());
        let Ok(connection) = connection_of(&changes.fleet, owner.server, &context) else { continue };
        let (own, shown): (Arc<str>, Arc<str>) = (owner.uri.into(), shown.as_str().into());
        asked.spawn(async move {
            let watch = changes.watches.watch(&changes, &connection, &own, &context);
            match timeout_at(deadline, watch).await {
                Ok(Ok(watch)) => {
                    Some(((connection, own), WantedResource { shown, principal, _watch: watch }))
                }
                Ok(Err(error)) => {
                    tracing::debug!(server = %connection, %error, "a server does not tell of a resource");
                    None
                }
                Err(_) => None,
            }
        });
    }
    while let Some(outcome) = asked.join_next().await {
        wanted.uris.extend(outcome.ok().flatten());
    }
}

/// Relays notifications of the caller's tasks. Only servers without sessions can be asked for them; a client of another
/// server has to poll.
fn relay_tasks(
    changes: &Arc<ChangeListeners>,
    listener: &Arc<ChangeListener>,
    context: &Context,
    tasks: Vec<String>,
    relayed: &mut JoinSet<()>,
) -> Result<Vec<String>, Error> {
    declares_tasks(context.session()?)?;
    let mut by_server: BTreeMap<ServerId, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for shown in tasks.into_iter().take(MAX_SUBSCRIPTIONS) {
        if let Some(task) = changes.fleet.tasks().find(&listener.principal, &shown) {
            let (all_shown, all_own) = by_server.entry(task.place.connection.server.clone()).or_default();
            all_shown.push(shown);
            all_own.push(task.own.to_string());
        }
    }
    let mut honoured = Vec::new();
    for (server, (shown, own)) in by_server {
        let Some(upstream) = changes.fleet.get(server.as_str()) else { continue };
        let connection = upstream.connection_key(&listener.principal);
        let session = upstream.session_on(&connection);
        if !session.is_some_and(|session| session.describes_each_request()) {
            continue;
        }
        honoured.extend(shown);
        let going = own.iter().map(|own| own.as_str().into()).collect();
        let filter = SubscriptionFilter::new().with_task_ids(own);
        let mut request = Request::with_body(Method::LISTEN, &SubscriptionsListenParams::new(filter))?;
        *request.context = context.clone();
        let relay = TaskRelay {
            changes: Arc::clone(changes),
            listener: Arc::downgrade(listener),
            connection: connection.clone(),
            going: Mutex::new(going),
            over: Notify::new(),
        };
        relayed.spawn(relay_on(request, Arc::new(relay), changes.relayed(connection)));
    }
    Ok(honoured)
}

/// Listens for tasks at a server until they have ended, and again whenever the server, or the connection, has broken
/// that off. `connection` is in use meanwhile.
async fn relay_on(request: Request, relay: Arc<TaskRelay>, connection: Arc<ConnectionKey>) {
    let server = &connection.server;
    while let Some(upstream) = relay.changes.fleet.get(server.as_str()) {
        let mut request = request.clone();
        request.context.outbox = Outbox::new(Arc::clone(&relay) as _, StreamId::fresh());
        let listening = upstream.call(request);
        drop(upstream);
        let outcome = tokio::select! {
            outcome = listening => outcome,
            () = relay.over.notified() => return,
        };
        if let Err(error) = outcome {
            tracing::debug!(%server, %error, "a server does not tell of tasks any more");
            if !matches!(error.origin(), Origin::Connection | Origin::Timeout) {
                return;
            }
        }
        sleep(PAUSE).await;
    }
}

/// A relay that passes a server's notifications of tasks on to a listener.
struct TaskRelay {
    changes: Arc<ChangeListeners>,
    listener: Weak<ChangeListener>,
    connection: ConnectionKey,
    /// The server's ids of the tasks that were not reported as ended.
    going: Mutex<HashSet<Box<str>>>,
    /// Notified when all tasks have ended.
    over: Notify,
}

impl TaskRelay {
    fn hear(&self, status: &Object) {
        if !has_ended(status) {
            return;
        }
        let Some(task) = status.text("taskId") else { return };
        let mut going = self.going.lock();
        if going.remove(&*task) && going.is_empty() {
            self.over.notify_one();
        }
    }
}

impl OutboxPort for TaskRelay {
    fn notify(&self, _: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::TASKS
            && let Some(listener) = self.listener.upgrade()
        {
            self.hear(&notification.params);
            let upstream = self.changes.fleet.get(self.connection.server.as_str());
            let owner = upstream
                .and_then(|upstream| upstream.record_task_status(&self.connection, &mut notification.params));
            if owner.as_ref() == Some(&listener.principal) {
                self.changes.offer(&listener, ChangeMessage::Message(Box::new(notification)));
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Checks that the client declared that it knows of tasks.
///
/// # Errors
/// -32021 if the client did not declare that it knows of tasks.
pub(crate) fn declares_tasks(session: &Session) -> Result<(), Error> {
    if session.peer_can(&["extensions", EXTENSION_ID]) {
        return Ok(());
    }
    let extensions = Object::from([(EXTENSION_ID, RawJson::empty_object())]);
    let required = Object::from([("extensions", extensions.to_raw())]);
    Err(Error::missing_client_capability(&required.to_raw()))
}

const LONGEST: Duration = Duration::from_secs(10);
const AT_ONCE: usize = 16;
