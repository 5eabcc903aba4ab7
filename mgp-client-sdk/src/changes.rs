//! The routes of a server's notifications: of changes to the subscriptions that want them, of progress to the calls.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use mgp_types::mcp::meta::key;
use mgp_types::mcp::{ProgressParams, SubscriptionFilter, notification_name, task, task_extension};
use mgp_types::{Id, Method, Object, Params};
use parking_lot::Mutex;

/// A change at the server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools changed.
    Tools,
    /// The list of prompts changed.
    Prompts,
    /// The list of resources changed.
    Resources,
    /// A resource, or a part of it, changed.
    Resource {
        /// The URI of the resource.
        uri: String,
    },
    /// A task of a session changed.
    Task(Box<task::Task>),
    /// A task of the tasks extension changed.
    ExtensionTask(Box<task_extension::DetailedTask>),
    /// An extension reports a change.
    Other {
        /// The notification.
        method: Method,
        /// The params of the notification.
        params: Params,
    },
    /// Changes were lost because nobody took them: everything subscribed to may have changed.
    Missed,
}

/// The routes of change notifications to the subscriptions that want them.
#[derive(Debug, Default)]
pub(crate) struct ChangeRoutes(Mutex<SubscriptionSlots>);

#[derive(Debug, Default)]
struct SubscriptionSlots {
    open: Vec<Arc<SubscriptionSlot>>,
    /// True if the connection is lost, so that no change will come any more.
    lost: bool,
}

/// The place of one subscription.
#[derive(Debug)]
pub(crate) struct SubscriptionSlot {
    filter: SubscriptionFilter,
    /// True if the server opens a subscription of its own for this one.
    tagged: bool,
    state: Mutex<SubscriptionSlotState>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct SubscriptionSlotState {
    /// The id that the server gave, once it has acknowledged.
    id: Option<Id>,
    honoured: Option<SubscriptionFilter>,
    /// The waiting changes. The queue is bounded: when it is full, one [`Change::Missed`] replaces all.
    waiting: VecDeque<Change>,
    /// True if no change will come any more.
    lost: bool,
}

impl ChangeRoutes {
    /// Opens a place for the changes that `filter` names.
    pub(crate) fn open(&self, filter: SubscriptionFilter, tagged: bool) -> Arc<SubscriptionSlot> {
        let mut places = self.0.lock();
        let state = Mutex::new(SubscriptionSlotState { lost: places.lost, ..Default::default() });
        let place = Arc::new(SubscriptionSlot { filter, tagged, state, waker: AtomicWaker::new() });
        places.open.push(place.clone());
        place
    }

    /// Removes a place.
    pub(crate) fn close(&self, place: &Arc<SubscriptionSlot>) {
        self.0.lock().open.retain(|other| !Arc::ptr_eq(other, place));
    }

    /// Marks the connection as lost.
    pub(crate) fn lose(&self) {
        let mut places = self.0.lock();
        places.lost = true;
        for place in &places.open {
            place.state.lock().lost = true;
            place.waker.wake();
        }
    }

    /// Hands a notification to the subscriptions that want it.
    pub(crate) fn tell(&self, method: &Method, params: &Params) {
        let places = &self.0.lock().open;
        if places.is_empty() || *method == Method::PROGRESS || *method == Method::MESSAGE {
            return;
        }
        let id = subscription_id(params);
        if *method == Method::ACKNOWLEDGED {
            let honoured: Option<SubscriptionFilter> =
                params.get("notifications").and_then(|raw| raw.to().ok());
            // It may be the late acknowledgement of a subscription that was given up.
            let awaiting = |place: &&Arc<SubscriptionSlot>| place.awaits(honoured.as_ref());
            if let Some(place) = places.iter().find(awaiting) {
                place.acknowledge(id, honoured);
            }
            return;
        }
        let Some(change) = read(method, params) else { return };
        let known = id.as_ref().is_some_and(|id| places.iter().any(|place| place.is(id)));
        for place in places {
            let wanted = match &id {
                Some(id) if known => place.is(id),
                _ => place.wants(&change),
            };
            if wanted {
                place.push(change.clone());
            }
        }
    }
}

const MAX_WAITING: usize = 256;

impl SubscriptionSlot {
    /// Returns the part of the filter that the server honours; `None` before the server has acknowledged.
    pub(crate) fn honoured(&self) -> Option<SubscriptionFilter> {
        self.state.lock().honoured.clone()
    }

    /// Waits until the server has acknowledged the subscription.
    pub(crate) fn poll_acknowledged(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        if self.state.lock().honoured.is_some() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns the next change. The task is woken when another one comes.
    pub(crate) fn next(&self, cx: &mut Context<'_>) -> Option<Change> {
        self.waker.register(cx.waker());
        self.state.lock().waiting.pop_front()
    }

    /// Returns whether no change will come any more. The task is woken when that becomes true, if it has asked for the
    /// [`next`](Self::next) change.
    pub(crate) fn is_lost(&self) -> bool {
        self.state.lock().lost
    }

    fn push(&self, change: Change) {
        let mut state = self.state.lock();
        // A repeated change needs no second entry.
        if state.waiting.back() == Some(&change) || state.waiting.back() == Some(&Change::Missed) {
            return;
        }
        if state.waiting.len() == MAX_WAITING {
            state.waiting.clear();
            state.waiting.push_back(Change::Missed);
        } else {
            state.waiting.push_back(change);
        }
        drop(state);
        self.waker.wake();
    }

    fn awaits(&self, honoured: Option<&SubscriptionFilter>) -> bool {
        let covers = honoured.is_none_or(|honoured| {
            let uris =
                |filter: &SubscriptionFilter| filter.resource_subscriptions.clone().unwrap_or_default();
            let (own, theirs) = (uris(&self.filter), uris(honoured));
            let flag = |own: Option<bool>, theirs: Option<bool>| theirs != Some(true) || own == Some(true);
            theirs.iter().all(|uri| own.contains(uri))
                && flag(self.filter.tools_list_changed, honoured.tools_list_changed)
                && flag(self.filter.prompts_list_changed, honoured.prompts_list_changed)
                && flag(self.filter.resources_list_changed, honoured.resources_list_changed)
        });
        self.tagged && covers && self.state.lock().id.is_none()
    }

    fn acknowledge(&self, id: Option<Id>, honoured: Option<SubscriptionFilter>) {
        let mut state = self.state.lock();
        state.id = id;
        state.honoured = Some(honoured.unwrap_or_default());
        drop(state);
        self.waker.wake();
    }

    fn is(&self, id: &Id) -> bool {
        self.state.lock().id.as_ref() == Some(id)
    }

    fn wants(&self, change: &Change) -> bool {
        let filter = &self.filter;
        match change {
            Change::Tools => filter.tools_list_changed == Some(true),
            Change::Prompts => filter.prompts_list_changed == Some(true),
            Change::Resources => filter.resources_list_changed == Some(true),
            Change::Resource { uri } => {
                let uris = filter.resource_subscriptions.as_deref().unwrap_or_default();
                // The changed resource may be a part of the subscribed one.
                uris.iter().any(|wanted| uri.starts_with(&**wanted))
            }
            Change::Task(task) => has_task(filter, &task.task_id),
            Change::ExtensionTask(task) => has_task(filter, &task.task_id),
            Change::Other { .. } | Change::Missed => false,
        }
    }
}

fn has_task(filter: &SubscriptionFilter, id: &str) -> bool {
    filter.task_ids.as_deref().unwrap_or_default().iter().any(|wanted| wanted == id)
}

fn read(method: &Method, params: &Params) -> Option<Change> {
    Some(match method.as_str() {
        notification_name::TOOLS_CHANGED => Change::Tools,
        notification_name::PROMPTS_CHANGED => Change::Prompts,
        notification_name::RESOURCES_CHANGED => Change::Resources,
        notification_name::RESOURCE_UPDATED => Change::Resource { uri: params.text("uri")?.into_owned() },
        notification_name::TASK_STATUS => Change::Task(Box::new(params.to().ok()?)),
        notification_name::TASKS => Change::ExtensionTask(Box::new(params.to().ok()?)),
        _ => Change::Other { method: method.clone(), params: params.clone() },
    })
}

fn subscription_id(params: &Params) -> Option<Id> {
    let meta = Object::from_raw(&params.get("_meta")?).ok()?;
    Id::from_json(meta.bytes(key::SUBSCRIPTION_ID)?)
}

/// The routes of progress notifications to the calls they belong to, by token.
#[derive(Debug, Default)]
pub(crate) struct ProgressRoutes {
    slots: Mutex<HashMap<i64, Arc<Slot>>>,
    next_token: AtomicI64,
}

/// The reports about one call that its callback has not got yet.
#[derive(Debug, Default)]
struct Slot {
    /// The waiting reports. The queue is bounded: the oldest is dropped, because a newer one says more.
    reports: Mutex<VecDeque<ProgressParams>>,
    waker: AtomicWaker,
}

/// The route of one call. Dropping it removes the route.
#[derive(Debug)]
pub(crate) struct ProgressWatch {
    routes: Arc<ProgressRoutes>,
    /// The token that reports carry.
    pub(crate) token: i64,
    slot: Arc<Slot>,
}

const MAX_UNTOLD: usize = 64;

impl ProgressRoutes {
    /// Creates a token, and the route of the reports under it.
    pub(crate) fn watch(self: &Arc<Self>) -> ProgressWatch {
        let token = self.next_token.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::<Slot>::default();
        self.slots.lock().insert(token, slot.clone());
        ProgressWatch { routes: self.clone(), token, slot }
    }

    /// Hands the params of a notification to their call; returns whether there is one.
    pub(crate) fn route(&self, params: &Object) -> bool {
        let token = params.bytes("progressToken").and_then(Id::from_json);
        let Some(Id::Number(token)) = token else { return false };
        let Some(slot) = self.slots.lock().get(&token).cloned() else { return false };
        if let Ok(report) = params.to() {
            let mut reports = slot.reports.lock();
            if reports.len() == MAX_UNTOLD {
                reports.pop_front();
            }
            reports.push_back(report);
            drop(reports);
            slot.waker.wake();
        }
        true
    }
}

impl ProgressWatch {
    /// Returns the next report in order. The task is woken when another one comes.
    pub(crate) fn next(&self, cx: &mut Context<'_>) -> Option<ProgressParams> {
        self.slot.waker.register(cx.waker());
        self.slot.reports.lock().pop_front()
    }
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        self.routes.slots.lock().remove(&self.token);
    }
}
