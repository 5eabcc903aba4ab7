//! The registry of servers that register themselves.

use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_store::{StoreError, off_the_runtime};
use mgp_types::mgp::{
    Actor, AuditPort, DeregisterServer, DeregisteredServer, ListServers, ListedServers, Outcome,
    RegisterServer, RegisteredServer, ServerId, ServerStatus, Timestamp, TraceId, TrustLevel,
};
use mgp_types::{Context, Principal, PrincipalRole};
use parking_lot::Mutex;

use super::admission::{admit, words};
use super::event::RegistrationChange;
use super::registration_table::{Claim, RegistrationTable};
use super::{
    Approval, CodeInspector, Lifetime, Registrant, RegistrationId, RegistrationPolicy, RegistrationTerms,
    RegistryError, Result, RunningServers, ServerRegistration, ServerView, SqliteRegistryStore,
};

/// The registered servers, their registrants, and their state (§15.4, §15.5).
///
/// The registry is a handle: clones share everything. A change is first recorded, then stored, and then made; a change
/// that cannot be recorded or stored is not made. Refusals are recorded, too. Changes of one server are made one after
/// the other, and the registry needs a tokio runtime.
///
/// # Cancel safety
/// A change whose future is dropped is made completely or not at all, apart from the start or stop of the server:
/// [`resume`](Registry::resume) starts servers that were not started, and a stopped server that still exists can be
/// deregistered again.
#[derive(Clone)]
pub struct Registry(pub(super) Arc<RegistryInner>);

pub(super) struct RegistryInner {
    pub(super) table: RegistrationTable,
    pub(super) policy: ArcSwap<RegistrationPolicy>,
    pub(super) fleet: Arc<dyn RunningServers>,
    pub(super) inspector: Arc<dyn CodeInspector>,
    pub(super) store: Arc<SqliteRegistryStore>,
    /// A lock that is held, off the runtime, until the table has what was read from the store or written to it.
    storing: Mutex<()>,
    pub(super) audit: Arc<dyn AuditPort>,
}

impl Registry {
    /// Reads the store, which may block, and creates a registry in front of `fleet`. No server is started before
    /// [`resume`](Self::resume).
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open(
        store: Arc<SqliteRegistryStore>,
        policy: RegistrationPolicy,
        fleet: Arc<dyn RunningServers>,
        inspector: Arc<dyn CodeInspector>,
        audit: Arc<dyn AuditPort>,
    ) -> Result<Self, StoreError> {
        let table = RegistrationTable::of(store.load()?);
        let (policy, storing) = (ArcSwap::from_pointee(policy), Mutex::default());
        Ok(Self(Arc::new(RegistryInner { table, policy, fleet, inspector, store, storing, audit })))
    }

    /// Reads the store anew after other kernels changed it. Servers that were approved there are started here too, and those
    /// that are gone or wait again are stopped. A server that cannot be started here stays registered.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let registry = Arc::clone(&self.0);
        let [before, now] = off_the_runtime(move || {
            let _storing = registry.storing.lock();
            Ok(registry.table.replace_kept(registry.store.load()?))
        })
        .await?;
        for server in before.iter().filter(|server| server.is_approved()) {
            if let Err(error) = self.0.fleet.stop(&server.id).await {
                tracing::error!(server = %server.id, %error, "a server that another kernel changed could not be stopped");
            }
        }
        for server in now.iter().filter(|server| server.is_approved()) {
            if let Err(error) = self.start_again(&server.id).await {
                tracing::warn!(server = %server.id, %error, "a server that another kernel registered is not started");
            }
        }
        Ok(())
    }

    /// Changes the policy for all further registrations, approvals and resumptions.
    pub fn set_policy(&self, policy: RegistrationPolicy) {
        self.0.policy.store(Arc::new(policy));
    }

    /// Answers `mgp/discovery/list`: the running servers, and for operators and registrants the servers that wait for
    /// an approval.
    ///
    /// # Errors
    /// The caller is not authenticated.
    pub fn list(&self, context: &Context, wanted: &ListServers) -> Result<ListedServers> {
        let by = context.principal.as_ref().ok_or(RegistryError::Unauthenticated)?;
        let pending = self.0.table.all();
        let pending = pending.iter().filter(|server| !server.is_approved() && may_change(by, server));
        let mut servers = self.0.fleet.servers(context);
        servers.extend(pending.map(|server| ServerView::pending(server)));
        servers.retain(|server| server.passes(&wanted.filter));
        servers.sort_by(|one, other| one.listed.id.cmp(&other.listed.id));
        Ok(ListedServers::new(servers.into_iter().map(|server| server.listed).collect()))
    }

    /// Registers a server in the name of `by`, and starts it if it is approved.
    ///
    /// # Errors
    /// The policy does not allow the server, its id is taken, its code is refused, or the change could not be recorded
    /// or stored. A server that cannot be started is registered nevertheless; the answer says so.
    pub async fn register(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        wanted: RegisterServer,
        terms: RegistrationTerms,
    ) -> Result<RegisteredServer> {
        let change = RegistrationChange::new(Actor::of(by), trace, "registered");
        let id = wanted.id.clone();
        let work = async {
            let policy = self.0.policy.load_full();
            let (server, left_out) = admit(&policy, by, wanted, terms, Timestamp::now())?;
            let claim = self.0.table.claim_new(&server)?;
            let mut server = self.judged(server).await?;
            if server.trust == TrustLevel::Sandboxed
                && (server.digest.is_none() || server.unconfined.is_some())
            {
                // An approval in advance covers only inspected code and a confined server.
                server.approval = Approval::Pending;
            }
            let (_claim, server) = self.put(&change, claim, server).await?;
            let mut registered = self.started(&server).await;
            if !left_out.is_empty() {
                let note = format!("not listed for registration, so not passed on: {}", left_out.join(", "));
                let earlier = registered.message.into_iter();
                registered.message = Some(earlier.chain([note]).collect::<Vec<_>>().join("; "));
            }
            Ok(registered)
        };
        self.carried_out(&change, &id, work).await
    }

    /// Approves and starts a waiting server, in the name of an operator. Its script is inspected again.
    ///
    /// # Errors
    /// `by` is no operator, nothing waits under this id, the policy or the code has changed, or the change could not be
    /// recorded or stored.
    pub async fn approve(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        id: &RegistrationId,
    ) -> Result<RegisteredServer> {
        let change = RegistrationChange::new(Actor::of(by), trace, "approved");
        let work = async {
            check_operator(by)?;
            let (claim, server) = self.0.table.claim_waiting(id)?;
            // An approval covers only code that was shown.
            let claim = self.unchanged(claim, &server).await?;
            let approval = Approval::Approved { by: by.id().into_owned(), at: Timestamp::now() };
            let approved = ServerRegistration { approval, ..ServerRegistration::clone(&server) };
            let (_claim, approved) = self.put(&change, claim, approved).await?;
            Ok(self.started(&approved).await)
        };
        self.carried_out(&change, &self.server_of(id), work).await
    }

    /// Removes a server that waited for its approval, in the name of an operator.
    ///
    /// # Errors
    /// `by` is no operator, nothing waits under this id, or the change could not be recorded or stored.
    pub async fn deny(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        id: &RegistrationId,
    ) -> Result<ServerId> {
        let change = RegistrationChange::new(Actor::of(by), trace, "denied");
        let work = async {
            check_operator(by)?;
            let (claim, server) = self.0.table.claim_waiting(id)?;
            self.remove(&change, claim, &server).await?;
            Ok(server.id.clone())
        };
        self.carried_out(&change, &self.server_of(id), work).await
    }

    /// Keeps a server beyond the session that it was registered for, in the name of an operator.
    ///
    /// # Errors
    /// `by` is no operator, there is no such server, or the change could not be recorded or stored.
    pub async fn keep(&self, by: &Principal, trace: Option<TraceId>, id: &ServerId) -> Result<()> {
        let change = RegistrationChange::new(Actor::of(by), trace, "kept");
        let work = async {
            check_operator(by)?;
            let (claim, server) = self.0.table.claim(id)?;
            let kept = ServerRegistration { lifetime: Lifetime::Kept, ..ServerRegistration::clone(&server) };
            self.put(&change, claim, kept).await.map(drop)
        };
        self.carried_out(&change, id, work).await
    }

    /// Stops and removes a registered server, in the name of an operator or of its registrant. Servers of the
    /// configuration cannot be removed here.
    ///
    /// # Errors
    /// There is no such server that `by` could remove, it could not be stopped, the reason is too long, or the change
    /// could not be recorded or stored.
    pub async fn deregister(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        wanted: &DeregisterServer,
    ) -> Result<DeregisteredServer> {
        let mut change = RegistrationChange::new(Actor::of(by), trace, "deregistered");
        change.reason = words(wanted.reason.clone(), "reason")?;
        let work = async {
            // The answer for a server of another registrant is that for an unknown one: an agent does not learn which
            // servers there are.
            let unknown = || RegistryError::Unknown(wanted.id.clone());
            let server = self.0.table.get(&wanted.id).filter(|server| may_change(by, server));
            server.ok_or_else(unknown)?;
            let (claim, server) = self.0.table.claim(&wanted.id)?;
            if !may_change(by, &server) {
                return Err(unknown());
            }
            self.remove(&change, claim, &server).await
        };
        self.carried_out(&change, &wanted.id, work).await?;
        Ok(DeregisteredServer::new(wanted.id.clone()))
    }

    /// Removes the servers that were registered for a session that has ended. Returns the servers that could not be
    /// removed, which stay.
    pub async fn session_ended(&self, session: &str) -> Vec<(ServerId, RegistryError)> {
        let mut failed = Vec::new();
        for server in self.0.table.all() {
            if !matches!(&server.lifetime, Lifetime::Session(of) if &**of == session) {
                continue;
            }
            let removed = match self.0.table.claim(&server.id) {
                // The server may have been kept, or removed, since.
                Ok((claim, server)) if server.lifetime != Lifetime::Kept => {
                    let change = RegistrationChange::new(Actor::kernel(), None, "deregistered");
                    self.remove(&change, claim, &server).await
                }
                Ok(_) | Err(RegistryError::Unknown(_)) => Ok(()),
                Err(busy) => Err(busy),
            };
            if let Err(error) = removed {
                tracing::error!(server = %server.id, %error, "a server could not be removed at the end of its session");
                failed.push((server.id.clone(), error));
            }
        }
        failed
    }

    /// Starts the approved servers of the previous run. Returns the servers that were not started, because the policy
    /// no longer allows them or their script has changed; they stay registered.
    pub async fn resume(&self) -> Vec<(ServerId, RegistryError)> {
        let mut failed = Vec::new();
        for server in self.0.table.all().into_iter().filter(|server| server.is_approved()) {
            if let Err(error) = self.start_again(&server.id).await {
                tracing::warn!(server = %server.id, %error, "a registered server is not started");
                failed.push((server.id.clone(), error));
            }
        }
        failed
    }

    /// Returns all registered servers, in the order of their ids; for operators.
    pub fn registered(&self) -> Vec<Arc<ServerRegistration>> {
        self.0.table.all()
    }

    /// Returns the server that waits under this id, for the record; an id under which nothing waits is recorded itself.
    fn server_of(&self, id: &RegistrationId) -> ServerId {
        let waiting = self.0.table.all().into_iter().find(|server| server.is_waiting_as(id));
        waiting.map_or_else(|| id.as_str().into(), |server| server.id.clone())
    }

    async fn start_again(&self, id: &ServerId) -> Result<()> {
        let (claim, server) = self.0.table.claim(id)?;
        let _claim = self.unchanged(claim, &server).await?;
        self.0.fleet.start(server).await.map_err(RegistryError::Fleet)
    }

    /// Starts the server if it is approved, and returns its state.
    async fn started(&self, server: &Arc<ServerRegistration>) -> RegisteredServer {
        let answer = |status| RegisteredServer::new(server.id.clone(), status);
        if !server.is_approved() {
            let inspected = if server.digest.is_some() { "was" } else { "could not be" };
            let id = &server.id;
            let unconfined =
                server.unconfined.as_ref().map(|why| format!("; it would run unconfined: {why}"));
            let approve = server.approval_id.as_str();
            tracing::warn!(server = %id, "a registered server waits: `mgp registrations approve {approve}` starts it");
            return answer(ServerStatus::PendingApproval).with_message(format!(
                "its code {inspected} inspected; the server `{id}` is waiting for approval: a person has to confirm it by \
                 `mgp permissions approve {approve}` in a terminal (`mgp registrations approve {approve}` does the same){}",
                unconfined.unwrap_or_default()
            ));
        }
        match self.0.fleet.start(server.clone()).await {
            Ok(()) => answer(ServerStatus::Registered),
            Err(error) => {
                tracing::warn!(server = %server.id, %error, "a registered server could not be started");
                answer(ServerStatus::Error).with_message("the server is registered, and could not be started")
            }
        }
    }

    /// Records the action, stores the changed server, and shows it: the last two in one step that cannot be
    /// interrupted. The claim is handed back, because no other task may stop a server that is about to be started.
    pub(super) async fn put(
        &self,
        change: &RegistrationChange,
        claim: Claim,
        server: ServerRegistration,
    ) -> Result<(Claim, Arc<ServerRegistration>)> {
        self.record(change, &server, Outcome::Success).await?;
        let server = Arc::new(server);
        let (registry, changed) = (Arc::clone(&self.0), server.clone());
        let outcome = off_the_runtime(move || {
            let _storing = registry.storing.lock();
            if changed.lifetime == Lifetime::Kept && !registry.store.put(claim.stored(), &changed)? {
                return Ok(None);
            }
            claim.put(changed);
            Ok(Some(claim))
        })
        .await;
        let claim = self.made(change, &server, outcome).await?;
        Ok((claim, server))
    }

    /// Records the action, stops the server if it may run, and forgets it.
    async fn remove(
        &self,
        change: &RegistrationChange,
        claim: Claim,
        server: &ServerRegistration,
    ) -> Result<()> {
        self.record(change, server, Outcome::Success).await?;
        if server.is_approved()
            && let Err(error) = self.0.fleet.stop(&server.id).await
        {
            // A forgotten server would run on without a way to stop it.
            let _ = self.record(change, server, Outcome::Failure).await;
            return Err(RegistryError::Fleet(error));
        }
        let (registry, id) = (Arc::clone(&self.0), server.id.clone());
        let outcome = off_the_runtime(move || {
            let _storing = registry.storing.lock();
            registry.store.remove(&id)?;
            claim.remove();
            Ok(Some(()))
        })
        .await;
        self.made(change, server, outcome).await
    }

    /// Records the failure of an action that was recorded as done and could not be stored, or to which another kernel came
    /// first.
    async fn made<T>(
        &self,
        change: &RegistrationChange,
        server: &ServerRegistration,
        outcome: Result<Option<T>, StoreError>,
    ) -> Result<T> {
        let error = match outcome {
            Ok(Some(made)) => return Ok(made),
            Ok(None) => RegistryError::Busy(server.id.clone()),
            Err(error) => RegistryError::Store(error),
        };
        tracing::error!(server = %server.id, %error, "a change was recorded and not stored");
        let _ = self.record(change, server, Outcome::Failure).await;
        Err(error)
    }

    async fn record(
        &self,
        change: &RegistrationChange,
        server: &ServerRegistration,
        outcome: Outcome,
    ) -> Result<()> {
        self.0.audit.record(change.done(server, outcome)).await.map_err(RegistryError::Unrecorded)
    }

    /// Carries a change out, and records its refusal. The refusal stands whether or not that succeeds.
    async fn carried_out<T>(
        &self,
        change: &RegistrationChange,
        id: &ServerId,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        use RegistryError::{Fleet, Store, Unrecorded};
        let outcome = work.await;
        if let Err(why) = &outcome
            && !matches!(why, Unrecorded(_) | Store(_) | Fleet(_))
        {
            tracing::warn!(server = %id, error = %why, "a change of the registered servers is refused");
            let _ = self.0.audit.record(change.refused(id, why)).await;
        }
        outcome
    }
}

mgp_types::partial_debug!(Registry, self => table: self.0.table, store: self.0.store);

fn check_operator(by: &Principal) -> Result<()> {
    if by.role() == PrincipalRole::Operator {
        return Ok(());
    }
    Err(RegistryError::Forbidden("only an operator may approve, deny or keep servers".into()))
}

/// Returns whether `by` registered the server, or may change any server.
fn may_change(by: &Principal, server: &ServerRegistration) -> bool {
    by.role() == PrincipalRole::Operator || server.registrant == Registrant::of(by)
}
