//! The policies: who may do what, with which servers, tools and definitions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_client_sdk::oauth::TokenSource;
use mgp_discovery::Config;
use mgp_discovery::config::model::FirstUse;
use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_lifecycle::store::EffectStore;
use mgp_security::access::{AccessPolicy, AccessPolicySettings};
use mgp_security::auth::KeyRing;
use mgp_security::confirmation::{AskGate, ConfirmedCalls, FlowGate};
use mgp_security::definition::{DefinitionGuard, PinnedDefinitions};
use mgp_security::limit::{LimitGate, Limiter};
use mgp_security::oauth::ResourceServer;
use mgp_security::permission::{GrantBook, PendingApprovals};
use mgp_security::scope::ScopeBook;
use mgp_security::{Clock, StoreError};
use mgp_store::{Database, off_the_runtime};
use mgp_transport::token::SealingKey;
use mgp_types::mgp::{AuditPort, DefaultPolicy};
use mgp_types::{AgentGroups, Error, Principal, code};
use tokio::time::sleep;

use crate::StartError;
use crate::call::hints::AgentBudgets;
use crate::call::session_state::StateOwners;
use crate::proof::ProofChecker;
use crate::record::AuditTrail;
use crate::replicas::{ClusterLink, FreshnessGate, SharedLogins, SharedPageLogins, share};
use crate::settings;
use crate::settings::paths::own_files;
use crate::settings::running::RunningConfig;
use crate::state::folder::users_state;

/// The decisions of operators and of the configuration, and the questions that are open.
pub struct Policies {
    /// The database of access, grants, questions, pins and keys.
    pub(crate) database: Database,
    /// The access list.
    pub access: AccessPolicy,
    /// The gate that refuses requests while it is not known what other kernels decided.
    pub(crate) freshness: FreshnessGate,
    /// The limits on how often clients may ask.
    pub(crate) limit: LimitGate,
    /// The counts of all limits so far.
    pub(crate) limiter: Arc<Limiter>,
    /// The scopes of agents, and the sessions that they negotiated.
    pub(crate) scopes: ScopeBook,
    /// The calls with idempotency keys that are made once, if the configuration has the kernel remember them.
    pub(crate) keyed_calls: Option<IdempotencyBook>,
    /// The amounts that agents have spent of their budgets.
    pub(crate) budgets: Arc<AgentBudgets>,
    /// The agents to whom servers gave state to carry.
    pub(crate) session_states: Arc<StateOwners>,
    /// The key of the proofs to whom servers gave checkpoints. Kernels that share a store have one.
    pub(crate) checkpoint_key: SealingKey,
    /// The rules for which calls a person is asked about.
    pub(crate) asks: AskGate,
    /// The gate that remembers what sessions took in.
    pub(crate) flows: FlowGate,
    pub(crate) grants: GrantBook,
    /// The questions that wait for a human.
    pub(crate) pending: PendingApprovals,
    /// The confirmations of several calls of a tool.
    pub(crate) confirmed: ConfirmedCalls,
    pub(crate) definitions: Arc<DefinitionGuard>,
    /// The keys of clients.
    pub keys: KeyRing,
    /// The tokens with which agents came.
    pub(crate) tokens: AgentTokens,
    /// The logins at servers, where kernels share them.
    pub(crate) logins: Option<SharedLogins>,
    /// The logins at the page, where kernels share them.
    pub(crate) page_logins: Option<SharedPageLogins>,
    /// The check of which operator connections may decide.
    pub(crate) proofs: ProofChecker,
    /// The files that no server may touch.
    pub(crate) own_files: Vec<PathBuf>,
}

mgp_types::partial_debug!(Policies);

impl Policies {
    /// Opens the decisions that are kept in the folder of the kernel's state. No server may touch `files`, nor the
    /// kernel's own files.
    pub(crate) async fn open(
        running: &RunningConfig,
        audit: &AuditTrail,
        link: Option<&Arc<ClusterLink>>,
        files: Vec<PathBuf>,
    ) -> Result<Self, StartError> {
        let (config, state): (&Config, _) = (&running.load(), running.state());
        let clock = audit.clock.clone();
        // The opener of the database holds its lock, so it is opened once and shared.
        let path = state.join("mgp.db");
        take_over(&users_state(state).join("mgp.db"), &path)?;
        let unusable = |error| StartError::Kept { path: path.clone(), error };
        let database = Database::open(&path).map_err(unusable)?;
        share(link, &database, "policy").map_err(unusable)?;
        let logins = link.map(|link| SharedLogins::open(database.clone(), link.key.clone()));
        let logins = logins.transpose().map_err(unusable)?;
        let page_logins = link.map(|link| SharedPageLogins::open(database.clone(), link.key.clone()));
        let page_logins = page_logins.transpose().map_err(unusable)?;
        let groups = AgentGroups::default();
        groups.set(settings::groups(config));
        database.set_reserve(audit.reserve.clone());
        let stored =
            stored_decisions(database.clone(), config.default_policy(), audit.port(), clock.clone(), &groups)
                .await?;
        let (access, grants, pending, mut pins, keys) = stored;
        if config.validators.first_use == FirstUse::Trust {
            pins = pins.trusting_first_lists();
        }
        let scopes = ScopeBook::new(clock.clone());
        settings::check_token_holders(config)?;
        scopes.set(settings::scopes(config)?.with_groups(groups.clone()));
        let asks = AskGate::new(groups.clone());
        asks.set(config.ask.clone());
        let flows = FlowGate::default();
        flows.only_record(!config.confirmation.flows);
        let mut proofs = ProofChecker::open(users_state(state), clock)?;
        if let Some(link) = link {
            proofs.share(database.clone(), link.key.clone()).map_err(unusable)?;
        }
        let seed = link.and_then(|link| link.key.derived("limits").first_chunk().copied());
        let limiter = Arc::new(Limiter::new(seed.map(u64::from_be_bytes)));
        keys.count_with(Arc::clone(&limiter));
        let limits = settings::agent_limits(config).with_groups(groups.clone());
        Ok(Self {
            database,
            freshness: FreshnessGate {
                freshness: link.map(|link| Arc::clone(&link.freshness)),
                stale_reads: config.store.stale_reads,
            },
            own_files: own_files(state, files),
            definitions: Arc::new(DefinitionGuard::new(pins)?),
            limit: LimitGate::with(limits, None, Arc::clone(&limiter)),
            scopes,
            keyed_calls: config.effects.enabled.then(|| keyed_calls(state, link)).transpose()?,
            budgets: Arc::new(AgentBudgets::new(groups, Arc::clone(&limiter))),
            limiter,
            session_states: Arc::default(),
            checkpoint_key: link
                .map_or_else(SealingKey::random, |link| SealingKey::new(link.key.derived("checkpoints"))),
            asks,
            flows,
            access,
            grants,
            pending,
            confirmed: ConfirmedCalls::default(),
            keys,
            tokens: AgentTokens::default(),
            logins,
            page_logins,
            proofs,
        })
    }

    /// Counts calls and costs together with other kernels, for as long as it is polled.
    pub(crate) async fn count_together(self: Arc<Self>, link: Arc<ClusterLink>) {
        loop {
            sleep(TELL_EVERY).await;
            let uses = [self.limiter.unreported(), self.budgets.unreported()].concat();
            // While the others are out of reach, this kernel lets pass one share of each limit.
            if !uses.is_empty()
                && let Ok(used) = link.add_uses(&uses).await
            {
                self.limiter.learn(&used);
                self.budgets.learn(&used);
            }
        }
    }

    /// Takes over the operator passphrase and the tokens that other kernels set.
    pub(crate) async fn follow_operators(self: &Arc<Self>) -> Result<(), StoreError> {
        let policies = Arc::clone(self);
        off_the_runtime(move || policies.proofs.follow()).await
    }

    /// Reads these sections of the database anew, which other kernels changed. Calls that may not go on end.
    pub(crate) async fn reload(self: &Arc<Self>, sections: &BTreeSet<String>) -> Result<(), StoreError> {
        for section in sections {
            match section.as_str() {
                "auth" => self.keys.reload().await?,
                "access" => self.access.reload().await.map(drop)?,
                "permission" => self.grants.reload().await?,
                "questions" => self.pending.reload().await?,
                "definition" => {
                    let definitions = Arc::clone(&self.definitions);
                    off_the_runtime(move || definitions.pins().reload()).await?;
                }
                "operators" => self.follow_operators().await?,
                "logins" => self.logins.iter().for_each(SharedLogins::note_change),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Opens the decisions of operators in `database`, whose tables are brought up to date, and the questions that are open.
///
/// # Errors
/// Fails if a newer version wrote the database, or it holds something other than decisions.
pub async fn stored_decisions(
    database: Database,
    default_policy: DefaultPolicy,
    audit: Arc<dyn AuditPort>,
    clock: Clock,
    groups: &AgentGroups,
) -> Result<(AccessPolicy, GrantBook, PendingApprovals, PinnedDefinitions, KeyRing), StoreError> {
    let access = AccessPolicy::open(AccessPolicySettings {
        default_policy,
        database: Some(database.clone()),
        audit: Some(Arc::clone(&audit)),
        clock: clock.clone(),
        groups: groups.clone(),
    })?;
    let grants = GrantBook::open(database.clone(), audit, clock.clone()).await?;
    grants.find_groups_in(groups.clone());
    let pending = PendingApprovals::open(database.clone(), grants.clone(), DENIED_FOR, clock.clone())?;
    let pins = PinnedDefinitions::load(database.clone())?;
    let keys = KeyRing::open(database, clock)?;
    keys.tell_groups(groups.clone());
    Ok((access, grants, pending, pins, keys))
}

/// Begins the decisions of a folder's kernel with those of its user: what was approved and denied there holds here. Keys
/// and logins stay the user's, who takes them back there, and so do questions, whose answers count once.
fn take_over(users: &Path, own: &Path) -> Result<(), StartError> {
    if own.exists() || !users.exists() {
        return Ok(());
    }
    let without = ["api_keys", "questions", "logins", "operators", "page_logins"];
    let taken = Database::open_read_only(users).and_then(|users| users.copy_to(own, &without));
    taken.map_err(|error| StartError::Kept { path: users.to_owned(), error })
}

/// Opens the calls with idempotency keys in the folder of the kernel's state.
fn keyed_calls(state: &Path, link: Option<&Arc<ClusterLink>>) -> Result<IdempotencyBook, StartError> {
    let path = state.join("effects.db");
    let book = Database::open(&path).and_then(|database| {
        share(link, &database, "effects")?;
        let store = EffectStore::of(database)?;
        if let Some(link) = link {
            link.share_effects(&store);
        }
        IdempotencyBook::open(store)
    });
    book.map_err(|error| StartError::Kept { path, error })
}

/// The tokens with which agents came last, once the kernel accepts tokens, for servers at which the kernel exchanges them.
///
/// A token is kept in memory, while it holds, and only where a server's entry says that tokens are exchanged. Only
/// the issuer that the entry names sees it, never one that a server names.
#[derive(Clone, Default)]
pub(crate) struct AgentTokens(Arc<OnceLock<ResourceServer>>);

impl AgentTokens {
    /// Takes tokens from here on.
    pub(crate) fn set_resource_server(&self, server: ResourceServer) {
        // A kernel listens once.
        let _ = self.0.set(server);
    }

    /// Returns the source of an agent's tokens.
    pub(crate) fn of(&self, agent: &Principal) -> TokenSource {
        let (tokens, agent) = (self.clone(), agent.clone());
        TokenSource::new(move || {
            let token = tokens.0.get().and_then(|server| server.token_of(&agent));
            std::future::ready(token.ok_or_else(|| {
                let message = format!(
                    "the agent `{}` has to come with a token of its identity provider, which is exchanged for one of \
                     the server",
                    agent.access_id()
                );
                Error::new(code::AUTH_REQUIRED, message)
            }))
        })
    }
}

mgp_types::partial_debug!(AgentTokens);

/// The time for which a denial holds whose operator sets no end.
const DENIED_FOR: Duration = Duration::from_hours(1);

/// The time between two exchanges with other kernels about what was used of limits.
const TELL_EVERY: Duration = Duration::from_millis(20);
