//! The subscriptions to resources at servers, shared by all clients that want to know.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mcp::{
    SubscribeParams, SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
    UnsubscribeParams,
};
use mgp_types::mgp::ServerId;
use mgp_types::{BoxFuture, Context, Error, Method, Outbox, OutboxPort, Principal, Request, StreamId};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::ChangeListeners;
use crate::servers::upstream::{ConnectionKey, ServerNotifications as _, Upstream};

/// The resources that servers notify of because a listener wants to know.
#[derive(Default)]
pub(super) struct ResourceWatches(Mutex<HashMap<ResourceKey, Weak<ResourceWatch>, RandomState>>);

/// A resource at the server of a connection, by the URI that it has there.
pub(super) type ResourceKey = (ConnectionKey, Arc<str>);

/// A resource that its server notifies of: subscribed to once, however many listeners want to know, and unsubscribed
/// from when none do.
pub(crate) struct ResourceWatch {
    changes: Weak<ChangeListeners>,
    connection: ConnectionKey,
    uri: Arc<str>,
    asked: OnceCell<AskedServer>,
}

/// The principal in whose name a server was asked, and the request that listens at a server without sessions until it is
/// dropped. In a session the subscription was made by a request.
type AskedServer = (Principal, Option<JoinSet<()>>);

impl ResourceWatches {
    /// Subscribes, on this connection, to the server's resource `uri`.
    ///
    /// # Errors
    /// Fails if the server does not accept the subscription.
    ///
    /// # Cancel safety
    /// Dropping the future lets another caller that waits for the same resource ask.
    pub(super) async fn watch(
        &self,
        changes: &Arc<ChangeListeners>,
        connection: &ConnectionKey,
        uri: &str,
        by: &Context,
    ) -> Result<Arc<ResourceWatch>, Error> {
        let watch = self.of(changes, connection, uri);
        watch.asked.get_or_try_init(|| watch.ask(changes, by)).await?;
        Ok(watch)
    }

    fn of(
        &self,
        changes: &Arc<ChangeListeners>,
        connection: &ConnectionKey,
        uri: &str,
    ) -> Arc<ResourceWatch> {
        let uri: Arc<str> = uri.into();
        let key = (connection.clone(), Arc::clone(&uri));
        let mut watches = self.0.lock();
        if let Some(watch) = watches.get(&key).and_then(Weak::upgrade) {
            return watch;
        }
        if watches.len() >= LOOK_AT {
            watches.retain(|_, watch| watch.strong_count() > 0);
        }
        let watch = Arc::new(ResourceWatch {
            changes: Arc::downgrade(changes),
            connection: connection.clone(),
            uri,
            asked: OnceCell::new(),
        });
        watches.insert(key, Arc::downgrade(&watch));
        watch
    }

    /// Returns the watch of the resource that a listener holds now.
    fn held(&self, connection: &ConnectionKey, uri: &Arc<str>) -> Option<Arc<ResourceWatch>> {
        self.0.lock().get(&(connection.clone(), Arc::clone(uri))).and_then(Weak::upgrade)
    }

    /// Returns the watches on this connection that a listener holds now.
    pub(super) fn on(&self, connection: &ConnectionKey) -> Vec<Arc<ResourceWatch>> {
        let watches = self.0.lock();
        let held = watches.iter().filter(|((of, _), _)| of == connection);
        held.filter_map(|(_, watch)| watch.upgrade()).collect()
    }
}

impl ResourceWatch {
    async fn ask(&self, changes: &ChangeListeners, by: &Context) -> Result<AskedServer, Error> {
        let principal = by.principal.clone().ok_or_else(|| Error::internal("nobody asks"))?;
        let upstream = changes.fleet.upstream(&self.connection.server)?;
        let session = upstream.session_on(&self.connection);
        if session.is_some_and(|session| session.describes_each_request()) {
            let listening = self.begin_listening(principal.clone()).await?;
            return Ok((principal, Some(listening)));
        }
        self.subscribe(&upstream, by.clone()).await?;
        Ok((principal, None))
    }

    fn resource(&self) -> ResourceKey {
        (self.connection.clone(), Arc::clone(&self.uri))
    }

    async fn subscribe(&self, upstream: &Arc<Upstream>, by: Context) -> Result<(), Error> {
        let mut request = Request::with_body(Method::RESOURCES_SUBSCRIBE, &SubscribeParams::new(&*self.uri))?;
        *request.context = by;
        upstream.call(request).await.map(drop)
    }

    /// Starts a request that listens at a server without sessions, and is made again when it has ended, until the set is
    /// dropped.
    async fn begin_listening(&self, principal: Principal) -> Result<JoinSet<()>, Error> {
        let (first, received) = oneshot::channel();
        let (changes, resource) = (Weak::clone(&self.changes), self.resource());
        let hearing = ListenReceiver { changes, resource, first: Mutex::new(Some(first)) };
        let mut listening = JoinSet::new();
        listening.spawn(listen(Arc::new(hearing), principal));
        match timeout(LONGEST, received).await {
            Ok(Ok(outcome)) => outcome.map(|()| listening),
            Ok(Err(_)) => Err(Error::disconnected(format!("the server {} is gone", self.connection.server))),
            Err(_) => Err(late(&self.connection.server)),
        }
    }
}

/// Renews the subscriptions on a new connection, in the names of those who want to know and may.
pub(super) async fn ask_again(changes: &ChangeListeners, connection: &ConnectionKey) {
    for watch in changes.watches.on(connection) {
        let Some((_, None)) = watch.asked.get() else { continue };
        let Some(upstream) = changes.fleet.get(connection.server.as_str()) else { return };
        let Some(principal) = changes.holder(&watch.resource()) else { continue };
        let asked = watch.subscribe(&upstream, in_the_name_of(principal));
        if let Err(error) = timeout(LONGEST, asked).await.unwrap_or_else(|_| Err(late(&connection.server))) {
            tracing::debug!(server = %connection, %error, "a server does not tell of a resource any more");
        }
    }
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        let Some((principal, None)) = self.asked.take() else { return };
        let Some(changes) = self.changes.upgrade() else { return };
        let (connection, uri) = (self.connection.clone(), Arc::clone(&self.uri));
        let errand = Arc::clone(&changes);
        changes.run(None, async move {
            if let Err(error) = take_back(&errand, &connection, &uri, principal).await {
                tracing::debug!(server = %connection, %error, "a server tells of a resource that nobody asks for");
            }
        });
    }
}

async fn take_back(
    changes: &ChangeListeners,
    connection: &ConnectionKey,
    uri: &Arc<str>,
    principal: Principal,
) -> Result<(), Error> {
    let server = &connection.server;
    let Some(upstream) = changes.fleet.get(server.as_str()) else { return Ok(()) };
    // A connection of somebody's own need not begin only to unsubscribe.
    if connection.is_own() && upstream.session_on(connection).is_none() {
        return Ok(());
    }
    let mut request = Request::with_body(Method::RESOURCES_UNSUBSCRIBE, &UnsubscribeParams::new(&**uri))?;
    *request.context = in_the_name_of(principal);
    timeout(LONGEST, upstream.call(request)).await.map_err(|_| late(server))??;
    // Another listener may want the resource by now, and the server may have got the two requests in either order.
    if let Some(watch) = changes.watches.held(connection, uri)
        && let Some((principal, _)) = watch.asked.get()
    {
        let asked = watch.subscribe(&upstream, in_the_name_of(principal.clone()));
        timeout(LONGEST, asked).await.map_err(|_| late(server))??;
    }
    Ok(())
}

/// Listens for the resource at the server, first in the name of `principal`, and from then on in the names of others
/// who want to know and may.
async fn listen(hearing: Arc<ListenReceiver>, principal: Principal) {
    let (ConnectionKey { server, .. }, uri) = &hearing.resource;
    let mut asks = Some(principal);
    loop {
        let Some(known) = hearing.changes.upgrade() else { return };
        let Some(upstream) = known.fleet.get(server.as_str()) else { return };
        let Some(principal) = asks.take().or_else(|| known.holder(&hearing.resource)) else {
            drop((known, upstream));
            sleep(PAUSE).await;
            continue;
        };
        drop(known);
        let filter = SubscriptionFilter::new().with_resource_subscriptions(vec![uri.to_string()]);
        let request = Request::with_body(Method::LISTEN, &SubscriptionsListenParams::new(filter));
        let Ok(mut request) = request else { return };
        *request.context = in_the_name_of(principal);
        request.context.outbox = Outbox::new(Arc::clone(&hearing) as _, StreamId::fresh());
        let listening = upstream.call(request);
        drop(upstream);
        let ended = listening.await.inspect_err(|error| {
            tracing::debug!(%server, %error, "a server does not tell of a resource any more");
        });
        hearing.begins(ended.and_then(|_| Err(silent(server))));
        sleep(PAUSE).await;
    }
}

/// A receiver of the messages to a request that listens at a server.
struct ListenReceiver {
    changes: Weak<ChangeListeners>,
    resource: ResourceKey,
    /// The receiver of whether the server notifies of the resource; used once.
    first: Mutex<Option<oneshot::Sender<Result<(), Error>>>>,
}

impl ListenReceiver {
    /// Reports the outcome of the first request, if it was not reported yet.
    fn begins(&self, outcome: Result<(), Error>) {
        if let Some(first) = self.first.lock().take() {
            // The caller may have given up by now.
            let _ = first.send(outcome);
        }
    }
}

impl OutboxPort for ListenReceiver {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::ACKNOWLEDGED {
            // The server was asked for one resource.
            let acknowledged = notification.body::<SubscriptionsAcknowledgedParams>();
            let honoured = acknowledged.ok().and_then(|params| params.notifications.resource_subscriptions);
            let is_honoured = honoured.is_some_and(|uris| !uris.is_empty());
            self.begins(if is_honoured { Ok(()) } else { Err(silent(&self.resource.0.server)) });
        } else if notification.method == Method::RESOURCE_UPDATED
            && let Some(uri) = notification.params.text("uri")
            && let Some(changes) = self.changes.upgrade()
        {
            changes.updated(&self.resource.0, &uri);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

fn in_the_name_of(principal: Principal) -> Context {
    let mut context = Context::default();
    context.principal = Some(principal);
    context
}

fn silent(server: &ServerId) -> Error {
    Error::invalid_request(format!("the server {server} does not tell of changes of this resource"))
}

fn late(server: &ServerId) -> Error {
    Error::timeout(format!("the server {server} did not answer in time"))
}

/// The number of watches from which on those that nobody holds any more are removed.
const LOOK_AT: usize = 1024;
const LONGEST: Duration = Duration::from_secs(10);
/// The pause before a server is asked again that has ended a request that was to go on.
pub(super) const PAUSE: Duration = Duration::from_secs(5);
