use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_discovery::registry::Registry;
use mgp_lifecycle::server::Life;
use mgp_security::Clock;
use mgp_security::access::{AccessPolicy, SqliteAccessStore};
use mgp_security::audit::{Arguments, AuditLog};
use mgp_security::auth::{KeyRing, SqliteKeyStore};
use mgp_security::definition::{DefinitionGuard, Pins, SqlitePins};
use mgp_security::limit::LimitGate;
use mgp_security::permission::{GrantBook, PendingApprovals, SqliteGrants, SqliteQuestions};
use mgp_security::sqlite::{Database, check_own};
use mgp_stream::event::Publisher;
use mgp_toolindex::embed::{EmbedderChoice, SqliteVectors};
use mgp_toolindex::learn::{LearnSettings, Learned};
use mgp_toolindex::{Index, SentVectors};
use mgp_transport::{ConnectionLimits, MemoryBudget};
use mgp_types::Context;
use mgp_types::mgp::{AuditPort, NameStyle, ServerId};

use crate::StartError;
use crate::changes::{Changes, Teller};
use crate::events;
use crate::fleet::Fleet;
use crate::operator::proof::Proofs;
use crate::operator::status::ServedKernel;
use crate::paths::OwnFiles;
use crate::reload::Reload;
use crate::seen_ends::SeenEnds;
use crate::upstream::Told;
use crate::visitors::Visitors;
use crate::{record, settings};

/// What the parts of the kernel share. Whoever has it can reach everything; what clients reach is decided by the stacks.
pub(crate) struct Parts {
    /// As it is in effect; what a reload cannot change is as it was at the start.
    pub(crate) config: ArcSwap<Config>,
    pub(crate) state: PathBuf,
    /// What no server may touch.
    pub(crate) own_files: OwnFiles,
    pub(crate) clock: Clock,
    pub(crate) audit: AuditLog,
    /// The ends that the record had.
    pub(crate) seen_ends: SeenEnds,
    pub(crate) access: AccessPolicy,
    /// The memory for long messages of all connections.
    pub(crate) memory: MemoryBudget,
    /// How often clients may ask, and what they have asked so far.
    pub(crate) limit: LimitGate,
    pub(crate) grants: GrantBook,
    /// What waits for a human.
    pub(crate) pending: PendingApprovals,
    /// What of the arguments of calls is recorded.
    pub(crate) arguments: Arguments,
    pub(crate) definitions: Arc<DefinitionGuard>,
    pub(crate) keys: KeyRing,
    /// Which connections of operators may decide.
    pub(crate) proofs: Proofs,
    pub(crate) catalog: Catalog,
    pub(crate) index: Index,
    /// What searches learned from use, if they are to.
    pub(crate) learned: Option<Arc<Learned>>,
    pub(crate) events: Publisher,
    pub(crate) fleet: Fleet,
    /// The kernel's own life, as its clients see it.
    pub(crate) life: Life,
    /// The servers that registered themselves. Set once, when all else is there.
    pub(crate) registry: OnceLock<Registry>,
    pub(crate) reload: Reload,
    /// Who is connected at its sockets.
    pub(crate) visitors: Visitors,
    /// How it was started. Set once, when it serves.
    pub(crate) served: OnceLock<Arc<ServedKernel>>,
    stopping: AtomicBool,
    /// Who is told what servers say unasked.
    pub(crate) changes: Arc<Changes>,
}

impl Parts {
    /// How the names of tools and prompts are written for whoever sent a request.
    pub(crate) fn names(&self, context: &Context) -> NameStyle {
        self.config.load().names.of(context)
    }

    /// What a connection may cost.
    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        settings::connection(&self.config.load(), &self.memory)
    }

    pub(crate) async fn open(
        config: Config,
        state: PathBuf,
        own_files: Vec<PathBuf>,
    ) -> Result<Arc<Self>, StartError> {
        create_private(&state)?;
        check_own_files(&state)?;
        let own_files = OwnFiles::new(&config, &state, own_files);
        let clock = Clock::system();
        let audit = record::open(&config, &state)?;
        let seen_ends = SeenEnds::open(&config, &state, &audit);
        let arguments = record::arguments(&config, &state)?;
        let port: Arc<dyn AuditPort> = Arc::new(audit.clone());
        // Whoever opens it holds its lock, so it is opened once and shared.
        let path = state.join("mgp.db");
        let database = Database::open(&path).map_err(|error| StartError::Kept { path, error })?;
        let access = AccessPolicy::builder()
            .store(SqliteAccessStore::new(database.clone())?)
            .audit(Arc::clone(&port))
            .clock(clock.clone())
            .default_policy(config.default_policy())
            .build()?;
        let grants =
            GrantBook::open(SqliteGrants::new(database.clone())?, Arc::clone(&port), clock.clone()).await?;
        let questions = SqliteQuestions::new(database.clone())?;
        let pending = settings::pending(&config, clock.clone(), grants.clone()).with_store(questions)?;
        let pins = Pins::load(settings::first_use(&config), SqlitePins::new(database.clone())?)?;
        let keys = KeyRing::open(SqliteKeyStore::new(database)?)?;
        let proofs = Proofs::open(&state, clock.clone())?;
        let (index, learned) = index(&config, &state).await?;
        let events =
            Publisher::new(events::CHANNELS).map_err(|error| StartError::Config(error.to_string()))?;
        Ok(Arc::new(Self {
            pending,
            proofs,
            definitions: Arc::new(DefinitionGuard::new(pins).with_qualified_names()),
            memory: settings::message_memory(&config),
            limit: LimitGate::new(settings::agent_limits(&config)),
            config: ArcSwap::from_pointee(config),
            catalog: Catalog::new(),
            fleet: Fleet::default(),
            life: Life::new(ServerId::from(KERNEL)),
            registry: OnceLock::new(),
            reload: Reload::default(),
            visitors: Visitors::default(),
            served: OnceLock::new(),
            stopping: AtomicBool::new(false),
            changes: Arc::new(Changes::new(access.clone())),
            state,
            own_files,
            clock,
            audit,
            seen_ends,
            arguments,
            access,
            grants,
            keys,
            index,
            learned,
            events,
        }))
    }

    /// Whether the kernel takes no more calls.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Who tells clients what servers say beside their calls.
    pub(crate) fn told(self: &Arc<Self>) -> impl Told + use<> {
        Teller::new(self)
    }

    pub(crate) fn port(&self) -> Arc<dyn AuditPort> {
        Arc::new(self.audit.clone())
    }
}

/// Checks that all that lies in the kernel's folder is its user's, and no link to elsewhere.
fn check_own_files(state: &Path) -> Result<(), StartError> {
    let unreadable = |error| StartError::State { path: state.to_owned(), error };
    for file in fs::read_dir(state).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        check_own(&path).map_err(|error| StartError::Kept { path, error })?;
    }
    Ok(())
}

/// Keys and what was permitted are for nobody else to read.
fn create_private(state: &Path) -> Result<(), StartError> {
    let fail = |error| StartError::State { path: state.to_owned(), error };
    std::fs::create_dir_all(state).map_err(fail)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(state, std::fs::Permissions::from_mode(0o700)).map_err(fail)?;
    }
    Ok(())
}

async fn index(config: &Config, state: &Path) -> Result<(Index, Option<Arc<Learned>>), StartError> {
    let choice = settings::embedder(config)?;
    let embedder = choice.open().await;
    let learned = || Arc::new(Learned::new(LearnSettings::default(), embedder.id()));
    let learned = config.tools.learning.then(learned);
    let sent = if config.tools.trust_sent_vectors { SentVectors::Trusted } else { SentVectors::Ignored };
    let builder = Index::builder(embedder).sent_vectors(sent);
    // The vectors of the table that is built in are made faster than they are read.
    if choice == EmbedderChoice::Static {
        return Ok((builder.build(), learned));
    }
    let vectors = SqliteVectors::open(&state.join("vectors"), MOST_VECTORS);
    let vectors = vectors.map_err(|error| StartError::Config(format!("`kernel.state`: {error}")))?;
    Ok((builder.store(vectors).build(), learned))
}

/// The kernel's own server id; no server of its may have it.
pub(crate) const KERNEL: &str = "mgp";

const MOST_VECTORS: u32 = 1_000_000;
