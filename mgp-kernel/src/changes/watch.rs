use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mcp::{SubscribeParams, SubscriptionFilter, UnsubscribeParams};
use mgp_types::mgp::ServerId;
use mgp_types::{Context, Error, Method, Principal, Request};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tower_service::Service;

use crate::parts::Parts;

/// What servers tell of because somebody wants to know.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<(ServerId, Arc<str>), Weak<Watch>, RandomState>>);

/// A resource that its server tells of: asked for once, however many want to know, and taken back when nobody does.
pub(crate) struct Watch {
    parts: Weak<Parts>,
    server: ServerId,
    uri: Arc<str>,
    /// In whose name the server was asked, and how.
    asked: OnceCell<(Principal, Asked)>,
}

enum Asked {
    /// By a request of a session.
    Session,
    /// By a request that goes on until it is dropped.
    Stateless { _until_dropped: Listening },
}

impl Watches {
    /// Has `server` tell of its resource `uri`.
    ///
    /// # Errors
    /// The server does not.
    ///
    /// # Cancel safety
    /// Dropping the future lets somebody else who waits for the same ask.
    pub(super) async fn watch(
        &self,
        parts: &Arc<Parts>,
        server: &ServerId,
        uri: &str,
        by: &Context,
    ) -> Result<Arc<Watch>, Error> {
        let watch = self.of(parts, server, uri);
        watch.asked.get_or_try_init(|| watch.ask(parts, by)).await?;
        Ok(watch)
    }

    fn of(&self, parts: &Arc<Parts>, server: &ServerId, uri: &str) -> Arc<Watch> {
        let uri: Arc<str> = uri.into();
        let key = (server.clone(), Arc::clone(&uri));
        let mut watches = self.0.lock();
        if let Some(watch) = watches.get(&key).and_then(Weak::upgrade) {
            return watch;
        }
        if watches.len() >= LOOK_AT {
            watches.retain(|_, watch| watch.strong_count() > 0);
        }
        let watch = Arc::new(Watch {
            parts: Arc::downgrade(parts),
            server: server.clone(),
            uri,
            asked: OnceCell::new(),
        });
        watches.insert(key, Arc::downgrade(&watch));
        watch
    }

    /// The watch that somebody holds now.
    fn held(&self, server: &ServerId, uri: &Arc<str>) -> Option<Arc<Watch>> {
        self.0.lock().get(&(server.clone(), Arc::clone(uri))).and_then(Weak::upgrade)
    }
}

impl Watch {
    async fn ask(&self, parts: &Arc<Parts>, by: &Context) -> Result<(Principal, Asked), Error> {
        let principal = by.principal.clone().ok_or_else(|| Error::internal("nobody asks"))?;
        let upstream = parts.fleet.get(self.server.as_str()).ok_or_else(|| gone(&self.server))?;
        let is_stateless = upstream.session().is_some_and(|session| session.revision.is_stateless());
        if is_stateless {
            let listening = Listening::begin(&self.parts, &self.server, &self.uri).await?;
            return Ok((principal, Asked::Stateless { _until_dropped: listening }));
        }
        let mut request = Request::with_body(Method::RESOURCES_SUBSCRIBE, &SubscribeParams::new(&*self.uri))?;
        request.context = by.clone();
        Service::call(&mut upstream.service(), request).await?;
        Ok((principal, Asked::Session))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some((principal, Asked::Session)) = self.asked.take() else { return };
        let Some(parts) = self.parts.upgrade() else { return };
        let (server, uri) = (self.server.clone(), Arc::clone(&self.uri));
        let changes = Arc::clone(&parts.changes);
        changes.run(async move {
            if let Err(error) = take_back(&parts, &server, &uri, principal).await {
                tracing::debug!(%server, %error, "a server tells of a resource that nobody asks for");
            }
        });
    }
}

async fn take_back(
    parts: &Parts,
    server: &ServerId,
    uri: &Arc<str>,
    principal: Principal,
) -> Result<(), Error> {
    let Some(upstream) = parts.fleet.get(server.as_str()) else { return Ok(()) };
    let context = in_the_name_of(principal);
    let mut service = upstream.service();
    let mut request = Request::with_body(Method::RESOURCES_UNSUBSCRIBE, &UnsubscribeParams::new(&**uri))?;
    request.context = context.clone();
    timeout(LONGEST, Service::call(&mut service, request)).await.map_err(|_| late(server))??;
    // Somebody may have come to want it meanwhile, and the server may have heard of the two in either order.
    if parts.changes.watches.held(server, uri).is_some_and(|watch| watch.asked.initialized()) {
        let mut request = Request::with_body(Method::RESOURCES_SUBSCRIBE, &SubscribeParams::new(&**uri))?;
        request.context = context;
        timeout(LONGEST, Service::call(&mut service, request)).await.map_err(|_| late(server))??;
    }
    Ok(())
}

/// A subscription at a server without sessions, made again when it has ended.
struct Listening(JoinHandle<()>);

impl Listening {
    async fn begin(parts: &Weak<Parts>, server: &ServerId, uri: &Arc<str>) -> Result<Self, Error> {
        let (acknowledged, mut is_acknowledged) = watch::channel(false);
        let listening = listen(Weak::clone(parts), acknowledged, server.clone(), Arc::clone(uri));
        let listening = Self(tokio::spawn(listening));
        match timeout(LONGEST, is_acknowledged.wait_for(|is| *is)).await {
            Ok(Ok(_)) => Ok(listening),
            Ok(Err(_)) => Err(gone(server)),
            Err(_) => Err(late(server)),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What the server tells of the resource reaches clients in the way that all it says unasked does; here it is only heard
/// that it goes on.
async fn listen(parts: Weak<Parts>, acknowledged: watch::Sender<bool>, server: ServerId, uri: Arc<str>) {
    loop {
        let Some(upstream) = parts.upgrade().and_then(|parts| parts.fleet.get(server.as_str())) else {
            return;
        };
        let client = upstream.client();
        drop(upstream);
        if let Some(client) = client {
            let filter = SubscriptionFilter::new().with_resource_subscriptions(vec![uri.to_string()]);
            match client.subscribe(filter).await {
                Ok(mut listening) => {
                    acknowledged.send_replace(true);
                    while let Some(Ok(_)) = listening.next().await {}
                }
                Err(error) => tracing::debug!(%server, %error, "a server does not tell of a resource any more"),
            }
        }
        sleep(PAUSE).await;
    }
}

fn in_the_name_of(principal: Principal) -> Context {
    let mut context = Context::default();
    context.principal = Some(principal);
    context
}

fn gone(server: &ServerId) -> Error {
    Error::disconnected(format!("the server {server} is gone"))
}

fn late(server: &ServerId) -> Error {
    Error::timeout(format!("the server {server} did not answer in time"))
}

/// With so many it is time to look for those that nobody holds any more.
const LOOK_AT: usize = 1024;
const LONGEST: Duration = Duration::from_secs(10);
/// Before a server is asked again that has ended a request that was to go on.
const PAUSE: Duration = Duration::from_secs(5);
