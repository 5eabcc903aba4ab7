//! The table of all subscriptions at the server, with their owners and their ways to the clients.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{
    ChannelPattern, EventReplay, EventReplayed, EventSubscribe, EventSubscribed, SubscriptionId,
};
use mgp_types::{Error, Principal, RawJson, Request, Session, code, random_name};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Publisher;
use super::feed::{EventFeed, EventQuotas, EventRoute, pump};
use super::gate::{Audience, AudienceMember};
use super::terms::SubscriptionTerms;
use crate::session::{SessionKey, refused};

/// All subscriptions that were made through one gate, with their owners and their ways to the clients.
///
/// The tasks that send events belong to the registry and end with it.
pub(super) struct SubscriptionRegistry {
    pub(super) publisher: Publisher,
    pub(super) quotas: EventQuotas,
    audience: Arc<Audience>,
    state: Mutex<SubscriptionRegistryState>,
}

#[derive(Debug, Default)]
struct SubscriptionRegistryState {
    entries: HashMap<SubscriptionId, SubscriptionEntry, RandomState>,
    attachments: u64,
    /// The task that removes unused subscriptions; it runs while there are subscriptions.
    sweeper: JoinSet<()>,
}

#[derive(Debug)]
struct SubscriptionEntry {
    feed: Arc<EventFeed>,
    owner: Option<Principal>,
    /// The way of the events; none if they are asked for, or their client is gone and may come back.
    holder: Option<EventRoute>,
    /// The number of the current attachment: a late beginning or end must not touch the successor of its attachment.
    attachment: u64,
    pump: JoinSet<()>,
    used: Instant,
}

/// The client that makes a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubscriptionCaller<'a> {
    pub(super) principal: Option<&'a Principal>,
    pub(super) session: &'a Arc<Session>,
}

impl<'a> SubscriptionCaller<'a> {
    /// Returns the sender of a request.
    ///
    /// # Errors
    /// The request belongs to no session.
    pub(super) fn of(request: &'a Request) -> Result<Self, Error> {
        Ok(Self { principal: request.context.principal.as_ref(), session: request.context.session()? })
    }
}

/// The fact that the events of a subscription go to one destination.
#[derive(Debug, Clone)]
pub(super) struct FeedAttachment {
    id: SubscriptionId,
    number: u64,
}

/// The outcome of a wish to subscribe.
#[derive(Debug)]
pub(super) struct OpenedSubscription {
    pub(super) answer: EventSubscribed,
    /// The terms of the subscription beyond channels and severity.
    pub(super) terms: SubscriptionTerms,
    /// The attachment; `None` if none of the wanted channels exists, and then nothing is kept.
    pub(super) attachment: Option<FeedAttachment>,
    /// The number of the event after which sending begins.
    pub(super) after_seq: u64,
}

const TOO_MANY: &str = "too many subscriptions are open";

/// The number that no attachment has.
const NOT_ATTACHED: u64 = 0;

impl SubscriptionRegistry {
    pub(super) fn new(publisher: Publisher, quotas: EventQuotas, audience: Arc<Audience>) -> Self {
        Self { publisher, quotas, audience, state: Mutex::default() }
    }

    /// Opens or resumes a subscription, whose events go to the session of the caller if that has a way to the client.
    /// Otherwise the events wait to be asked for.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        caller: SubscriptionCaller<'_>,
        asked: &EventSubscribe,
        terms: SubscriptionTerms,
    ) -> Result<RawJson, Error> {
        let reached = caller.session.outbox.is_open();
        let holder = reached.then(|| EventRoute::Session(SessionKey::of(caller.session)));
        let opened = self.open(caller, asked, terms, holder)?;
        let answer = opened.terms.write_answer(&opened.answer, reached)?;
        if let Some(attachment) = opened.attachment.filter(|_| reached) {
            self.start(attachment, opened.after_seq);
        }
        Ok(answer)
    }

    /// Opens or resumes a subscription without sending events yet.
    pub(super) fn open(
        self: &Arc<Self>,
        caller: SubscriptionCaller<'_>,
        asked: &EventSubscribe,
        terms: SubscriptionTerms,
        holder: Option<EventRoute>,
    ) -> Result<OpenedSubscription, Error> {
        if asked.channels.len() > self.quotas.channels {
            return Err(refused(code::QUOTA_EXCEEDED, "a subscription asks for too many channels"));
        }
        let runtime = Handle::try_current()
            .map_err(|error| Error::internal("events need an async runtime").with_source(error))?;
        match &asked.subscription_id {
            Some(id) => self.resume(caller, id, asked, holder),
            None => self.open_new(caller, asked, terms, holder, &runtime),
        }
    }

    fn open_new(
        self: &Arc<Self>,
        caller: SubscriptionCaller<'_>,
        asked: &EventSubscribe,
        terms: SubscriptionTerms,
        holder: Option<EventRoute>,
        runtime: &Handle,
    ) -> Result<OpenedSubscription, Error> {
        let spectator = AudienceMember::new(caller.principal, &self.audience);
        let (mut answer, patterns) = self.choose(&spectator, asked);
        // A chosen id can be guessed, so the subscription lies under one that cannot.
        let id = answer.subscription_id.clone();
        let is_proved = caller.principal.is_some() || matches!(holder, Some(EventRoute::Session(_)));
        if let Some(chosen) = terms.chosen_id().filter(|_| is_proved) {
            answer.subscription_id = chosen.clone();
        }
        if patterns.is_empty() {
            // The client wanted to know the channels. The answer has a name like any other, and nothing is kept under
            // that name.
            return Ok(OpenedSubscription { answer, terms, attachment: None, after_seq: 0 });
        }
        let now = Instant::now();
        let mut state = self.state.lock();
        self.sweep(&mut state, now);
        if state.id_of(caller, &answer.subscription_id).is_some() {
            let message = "there is a subscription with this id: end it first, or choose another id";
            return Err(refused(code::SUBSCRIPTION_CONFLICT, message));
        }
        self.make_room(&mut state, caller, holder.as_ref())?;
        if state.sweeper.is_empty() {
            let every = (self.quotas.idle_timeout / 4).clamp(Duration::from_secs(1), Duration::from_mins(1));
            state.sweeper.spawn_on(sweep_often(Arc::downgrade(self), every), runtime);
        }
        let (given_id, bounds) = (answer.subscription_id.clone(), self.quotas.bounds);
        let feed = EventFeed::new(given_id, spectator, patterns, asked.filter, terms.clone(), bounds);
        let feed = Arc::new(feed);
        self.publisher.open(&feed);
        let (owner, pump) = (caller.principal.cloned(), JoinSet::new());
        let entry = SubscriptionEntry { feed, owner, holder, attachment: NOT_ATTACHED, pump, used: now };
        state.entries.insert(id.clone(), entry);
        let attachment = state.attach(&id);
        Ok(OpenedSubscription { answer, terms, attachment, after_seq: 0 })
    }

    /// Returns which of the wanted channels exist, as far as the caller may know.
    fn choose(
        &self,
        spectator: &AudienceMember,
        asked: &EventSubscribe,
    ) -> (EventSubscribed, Vec<ChannelPattern>) {
        let board = &self.publisher;
        let mut answer = EventSubscribed::new(SubscriptionId::new(format!("sub-{}", random_name())));
        let mut patterns = Vec::with_capacity(asked.channels.len());
        for wanted in &asked.channels {
            match wanted.parse::<ChannelPattern>() {
                Ok(pattern) if board.has_channel(&pattern, spectator) => {
                    answer.subscribed.push(wanted.clone());
                    patterns.push(pattern);
                }
                _ => answer.unsupported.push(wanted.clone()),
            }
        }
        answer.available = board.available(spectator);
        answer.last_seq = Some(0);
        (answer, patterns)
    }

    /// Attaches an existing subscription to a caller that has proved to be its owner: by being the same principal or,
    /// for anonymous clients, by knowing the name.
    fn resume(
        &self,
        caller: SubscriptionCaller<'_>,
        id: &SubscriptionId,
        asked: &EventSubscribe,
        holder: Option<EventRoute>,
    ) -> Result<OpenedSubscription, Error> {
        let mut state = self.state.lock();
        let own = state.id_of(caller, id).ok_or_else(unknown)?;
        let is_held = self.find(&mut state, caller, id).ok_or_else(unknown)?.is_held_by(caller.session);
        if caller.principal.is_none() && matches!(holder, Some(EventRoute::Session(_))) && !is_held {
            self.check_session(&state, caller)?;
        }
        let entry = state.entries.get_mut(&own).ok_or_else(unknown)?;
        entry.pump = JoinSet::new();
        entry.holder = holder;
        let feed = Arc::clone(&entry.feed);
        let attachment = state.attach(&own);
        drop(state);
        let after_seq = asked.after_seq.unwrap_or(0).min(feed.last_seq());
        let mut answer = EventSubscribed::new(id.clone());
        answer.subscribed = feed.patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect();
        answer.unsupported.clone_from(&asked.channels);
        answer.unsupported.retain(|wanted| !answer.subscribed.contains(wanted));
        answer.available = self.publisher.available(&feed.spectator);
        answer.last_seq = Some(feed.last_seq());
        answer.gap = feed.gap_after(after_seq);
        Ok(OpenedSubscription { answer, terms: feed.terms.clone(), attachment, after_seq })
    }

    /// Starts sending the events after number `after_seq`, if the attachment is still the current one.
    pub(super) fn start(self: &Arc<Self>, attachment: FeedAttachment, after_seq: u64) {
        let mut state = self.state.lock();
        let Some(entry) = state.attached(&attachment) else { return };
        let Some(way) = entry.holder.clone() else { return };
        // Opening a subscription has checked that there is a runtime.
        let Ok(runtime) = Handle::try_current() else { return };
        let feed = Arc::clone(&entry.feed);
        let pump = pump(feed, way, after_seq, attachment, Arc::downgrade(self));
        entry.pump = JoinSet::new();
        entry.pump.spawn_on(pump, &runtime);
    }

    /// Detaches the subscription from its destination; events are kept for a while.
    pub(super) fn detach(&self, attachment: &FeedAttachment) {
        if let Some(entry) = self.state.lock().attached(attachment) {
            entry.let_go(Instant::now());
        }
    }

    /// Takes back a subscription that was only just opened.
    pub(super) fn withdraw(&self, attachment: &FeedAttachment) {
        let mut state = self.state.lock();
        if state.attached(attachment).is_some() {
            self.remove(&mut state, &attachment.id);
        }
    }

    pub(super) fn replay(
        &self,
        caller: SubscriptionCaller<'_>,
        asked: &EventReplay,
    ) -> Result<(EventReplayed, SubscriptionTerms), Error> {
        let mut state = self.state.lock();
        let entry = self.find_held(&mut state, caller, &asked.subscription_id).ok_or_else(unknown)?;
        let feed = Arc::clone(&entry.feed);
        drop(state);
        Ok((feed.replay(asked), feed.terms.clone()))
    }

    /// Ends a subscription of the caller. Returns whether there was one.
    pub(super) fn unsubscribe(&self, caller: SubscriptionCaller<'_>, id: &SubscriptionId) -> bool {
        let mut state = self.state.lock();
        let Some(own) = state.id_of(caller, id) else { return false };
        self.find_held(&mut state, caller, id).is_some() && self.remove(&mut state, &own)
    }

    /// Returns the subscriptions that are the caller's without any doubt: an id alone is no proof here.
    pub(super) fn list(&self, caller: SubscriptionCaller<'_>) -> mgp_types::ext::OwnSubscriptions {
        let now = Instant::now();
        let state = self.state.lock();
        let own = state.entries.values().filter(|entry| {
            entry.is_surely_of(caller) && !entry.is_over(now, &self.quotas) && !entry.feed.is_past(now)
        });
        let mut subscriptions: Vec<_> = own.map(|entry| entry.feed.describe()).collect();
        drop(state);
        subscriptions.sort_by(|one, other| one.subscription_id.cmp(&other.subscription_id));
        let spectator = AudienceMember::new(caller.principal, &self.audience);
        let supported_events = self.publisher.available(&spectator);
        mgp_types::ext::OwnSubscriptions { subscriptions, supported_events }
    }

    /// Returns the subscription that the caller may use as it is attached now. A subscription that goes to another
    /// session of an anonymous client belongs to that session until it is resumed.
    fn find_held<'a>(
        &self,
        state: &'a mut SubscriptionRegistryState,
        caller: SubscriptionCaller<'_>,
        id: &SubscriptionId,
    ) -> Option<&'a mut SubscriptionEntry> {
        let entry = self.find(state, caller, id)?;
        let is_free = entry.owner.is_some() || !entry.is_of_open_session();
        (is_free || entry.is_held_by(caller.session)).then_some(entry)
    }

    /// Returns the subscription that may belong to the caller. Asking for a subscription counts as use.
    fn find<'a>(
        &self,
        state: &'a mut SubscriptionRegistryState,
        caller: SubscriptionCaller<'_>,
        id: &SubscriptionId,
    ) -> Option<&'a mut SubscriptionEntry> {
        let now = Instant::now();
        let own = state.id_of(caller, id)?;
        let entry = state.entries.get_mut(&own)?;
        if entry.is_over(now, &self.quotas) || entry.feed.is_past(now) {
            return None;
        }
        entry.used = now;
        Some(entry)
    }

    /// Makes room for one more subscription of the caller.
    ///
    /// A principal that has as many as it may loses the one of its own that it has not used for longest and that goes
    /// nowhere, so that a client that connects again and again without resuming is not locked out. Anonymous clients
    /// are refused, or each could take away the subscriptions of others.
    fn make_room(
        &self,
        state: &mut SubscriptionRegistryState,
        caller: SubscriptionCaller<'_>,
        holder: Option<&EventRoute>,
    ) -> Result<(), Error> {
        let EventQuotas { per_owner, in_all, .. } = self.quotas;
        if caller.principal.is_none() {
            if matches!(holder, Some(EventRoute::Session(_))) {
                self.check_session(state, caller)?;
            }
            let nobodys = state.entries.values().filter(|entry| entry.owner.is_none()).count();
            if nobodys >= in_all.div_ceil(2) || state.entries.len() >= in_all {
                return Err(refused(code::QUOTA_EXCEEDED, TOO_MANY));
            }
            return Ok(());
        }
        let own = || state.entries.iter().filter(|(_, entry)| entry.owner.as_ref() == caller.principal);
        if own().count() < per_owner && state.entries.len() < in_all {
            return Ok(());
        }
        let idle = own().filter(|(_, entry)| entry.holder.is_none());
        let oldest = idle.min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone());
        let oldest = oldest.ok_or_else(|| refused(code::QUOTA_EXCEEDED, TOO_MANY))?;
        self.remove(state, &oldest);
        Ok(())
    }

    /// Checks that the session of an anonymous client owns no more subscriptions than a principal may.
    fn check_session(
        &self,
        state: &SubscriptionRegistryState,
        caller: SubscriptionCaller<'_>,
    ) -> Result<(), Error> {
        let held = state.entries.values().filter(|entry| entry.is_held_by(caller.session));
        if held.count() >= self.quotas.per_owner {
            return Err(refused(code::QUOTA_EXCEEDED, TOO_MANY));
        }
        Ok(())
    }

    /// Releases sessions that are gone, and removes subscriptions that were not used for long.
    fn sweep(&self, state: &mut SubscriptionRegistryState, now: Instant) {
        for entry in state.entries.values_mut() {
            if matches!(entry.holder, Some(EventRoute::Session(_))) && !entry.is_of_open_session() {
                entry.let_go(now);
            }
        }
        let over = state.entries.extract_if(|_, entry| entry.is_over(now, &self.quotas));
        let over: Vec<SubscriptionEntry> = over.map(|(_, entry)| entry).collect();
        self.publisher.close(over.iter().map(|entry| &*entry.feed));
    }

    fn remove(&self, state: &mut SubscriptionRegistryState, id: &SubscriptionId) -> bool {
        let Some(entry) = state.entries.remove(id) else { return false };
        self.publisher.close([&*entry.feed]);
        true
    }
}

mgp_types::partial_debug!(SubscriptionRegistry, self => publisher: self.publisher);

impl Drop for SubscriptionRegistry {
    /// The publisher may outlive the registry.
    fn drop(&mut self) {
        let entries = std::mem::take(&mut self.state.get_mut().entries);
        self.publisher.close(entries.values().map(|entry| &*entry.feed));
    }
}

impl SubscriptionRegistryState {
    /// Returns the id under which the caller's subscription lies. Ids that clients chose are their own, so that two
    /// clients may choose the same one.
    fn id_of(&self, caller: SubscriptionCaller<'_>, given_id: &SubscriptionId) -> Option<SubscriptionId> {
        let by_itself = self.entries.get(given_id);
        if by_itself.is_some_and(|entry| entry.owner.as_ref() == caller.principal) {
            return Some(given_id.clone());
        }
        let mut entries = self.entries.iter();
        let chosen = entries.find(|(_, entry)| entry.feed.id == *given_id && entry.is_surely_of(caller));
        chosen.map(|(id, _)| id.clone())
    }

    /// Returns a new attachment of the subscription, in place of the previous one.
    fn attach(&mut self, id: &SubscriptionId) -> Option<FeedAttachment> {
        self.attachments += 1;
        self.entries.get_mut(id)?.attachment = self.attachments;
        Some(FeedAttachment { id: id.clone(), number: self.attachments })
    }

    /// Returns the subscription of this attachment, if the attachment is the current one.
    fn attached(&mut self, attachment: &FeedAttachment) -> Option<&mut SubscriptionEntry> {
        self.entries.get_mut(&attachment.id).filter(|entry| entry.attachment == attachment.number)
    }
}

impl SubscriptionEntry {
    fn let_go(&mut self, now: Instant) {
        self.holder = None;
        self.attachment = NOT_ATTACHED;
        self.pump = JoinSet::new();
        self.used = now;
    }

    /// Returns whether the subscription is over and can be removed. One that goes somewhere tells its client first when
    /// its time is over.
    fn is_over(&self, now: Instant, quotas: &EventQuotas) -> bool {
        let is_idle = now.saturating_duration_since(self.used) >= quotas.idle_timeout;
        self.holder.is_none() && (is_idle || self.feed.is_past(now))
    }

    /// Returns whether the subscription is the caller's, whatever it knows of ids.
    fn is_surely_of(&self, caller: SubscriptionCaller<'_>) -> bool {
        self.owner.as_ref() == caller.principal && (self.owner.is_some() || self.is_held_by(caller.session))
    }

    fn is_held_by(&self, session: &Arc<Session>) -> bool {
        matches!(&self.holder, Some(EventRoute::Session(held)) if *held == SessionKey::of(session))
    }

    fn is_of_open_session(&self) -> bool {
        matches!(&self.holder, Some(EventRoute::Session(held)) if held.session().is_some())
    }
}

/// Returns the error for a subscription that never was, or belongs to another client.
fn unknown() -> Error {
    refused(code::RESOURCE_NOT_FOUND, "no such subscription")
}

async fn sweep_often(registry: Weak<SubscriptionRegistry>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(registry) = registry.upgrade() else { return };
        let mut state = registry.state.lock();
        registry.sweep(&mut state, Instant::now());
        if state.entries.is_empty() {
            state.sweeper = JoinSet::new();
            return;
        }
    }
}
