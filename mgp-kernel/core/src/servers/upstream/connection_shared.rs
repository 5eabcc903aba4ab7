//! A connection to a server, with the state that all its parts share.

use std::collections::{BTreeSet, HashSet};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock, Weak};

use foldhash::fast::RandomState;
use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::ServerConfig;
use mgp_types::mgp::{ServerId, ServerState};
use mgp_types::{Error, Object, PassedMethods, Principal, Session};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::audit;
use super::confined::ProgramStart;
use super::connection_key::ConnectionKey;
use super::first_start::FirstStart;
use super::server_shared::ServerShared;
use super::stale_lists::{ListKind, StaleLists};
use super::start_attempt::StartAttempt;
use super::start_queue::StartPlace;
use super::support::{CurrentClient, ServerStack, ServerSupport};
use crate::approvals::ElicitationSessions;
use crate::call::calls_in_work::CallsInWork;
use crate::call::meter::OpenRequests;
use crate::servers::task_table::TaskPlace;
use crate::telemetry::counts::MinuteCount;
use crate::{StartError, settings};

/// A connection to a server, as all parts that serve it share it.
pub(crate) struct ConnectionShared {
    pub(crate) server: ServerId,
    pub(crate) key: ConnectionKey,
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) support: Arc<ServerSupport>,
    /// The place where tasks that are begun on the connection go on.
    pub(super) tasks_at: Arc<TaskPlace>,
    /// The methods that the table of methods does not have and that the operator passes.
    pub(crate) passed: PassedMethods,
    /// The lists of the connection.
    pub(super) lists: Arc<Catalog>,
    pub(crate) of_server: Arc<ServerShared>,
    /// The state of the server over all its connections.
    pub(super) by_all: StateByAll,
    pub(super) start: FirstStart,
    pub(crate) state: ConnectionState,
}

/// The state of one connection to a server. It begins empty.
#[derive(Default)]
pub(crate) struct ConnectionState {
    pub(super) calls: CallsInWork,
    /// The requests for which the connection was chosen, until they are answered: it does not end for another client before.
    pub(crate) uses: OpenRequests,
    /// The sessions of other kernels that use the connection.
    pub(super) peers: Mutex<Vec<Weak<Session>>>,
    pub(super) elicitations: Arc<ElicitationSessions>,
    /// The questions that the server asked, and those of them that are about no call.
    pub(super) questions: Mutex<MinuteCount>,
    pub(super) unasked: Mutex<MinuteCount>,
    pub(super) changed: StaleLists,
    /// The channels on which the server publishes events and the patterns that it accepts, as the server calls them.
    pub(super) channels: Mutex<HashSet<Box<str>, RandomState>>,
    /// The number of the last request of a client for channels that the server was asked for.
    pub(super) asked_channels: watch::Sender<u64>,
    /// True if the connection has ended for good, so that its lists do not count.
    pub(super) is_over: AtomicBool,
    pub(crate) current: CurrentClient,
    /// The layers in front of the server. They lead to the supervisor, so they are set after it, and before the first
    /// connect.
    pub(super) stack: OnceLock<ServerStack>,
    pub(super) publishing: tokio::sync::Mutex<()>,
    /// The tasks that run beside the connection, for one incarnation.
    pub(super) beside: Mutex<JoinSet<()>>,
    /// The place in the record up to which the server got it.
    pub(super) audited: audit::AuditForwarding,
    /// Notified when the server may not have what it needs.
    pub(super) rejected: Notify,
    /// The number of times that humans were asked.
    pub(crate) asked: watch::Sender<u64>,
    pub(super) last_error: Mutex<Option<String>>,
    /// The attempt to connect that goes on, or the last one.
    pub(super) attempt: Mutex<StartAttempt>,
    /// The place of its program among those that start, while it is connected and not set up.
    pub(super) place: Mutex<Option<StartPlace>>,
    pub(super) connected_at: Mutex<Option<Instant>>,
    pub(super) connects: AtomicU64,
    /// The description that the server gives of itself; until its first start is over, that by the connection in whose
    /// place this one begins.
    pub(super) about: Mutex<ServerDescription>,
    /// The lists that could not be fetched.
    pub(super) missed: Mutex<MissedLists>,
    /// The last start of its program, with the folders that it has to itself.
    pub(super) started: Mutex<Option<ProgramStart>>,
    /// The number of the process; 0 if there is none.
    pub(super) pid: Arc<AtomicU32>,
    /// The exit status of the process that ended last by itself.
    pub(super) exit: Arc<Mutex<Option<ExitStatus>>>,
}

/// A function that returns the state of a server over all its connections; `None` once the server is gone.
pub(super) type StateByAll = Box<dyn Fn() -> Option<ServerState> + Send + Sync>;

/// The description of a server by itself, its texts as far as they may reach a model.
#[derive(Clone, Default)]
pub(super) struct ServerDescription {
    pub(super) capabilities: Object,
    pub(super) instructions: Option<Arc<str>>,
    pub(super) description: Option<Arc<str>>,
}

/// The lists that are asked for again after a pause.
#[derive(Default)]
pub(super) struct MissedLists {
    /// The lists that wait for the next attempt.
    pub(super) lists: BTreeSet<ListKind>,
    /// The number of times in a row that a list could not be fetched.
    pub(super) times: u32,
}

impl ConnectionShared {
    /// Returns a connection that has not begun, and has no layers in front yet.
    ///
    /// # Errors
    /// Fails if the methods that the operator passes cannot be read.
    pub(super) fn new(
        support: &Arc<ServerSupport>,
        config: &Arc<ServerConfig>,
        key: ConnectionKey,
        of_server: &Arc<ServerShared>,
        lists: Arc<Catalog>,
        by_all: StateByAll,
    ) -> Result<Self, StartError> {
        let server = key.server.clone();
        Ok(Self {
            tasks_at: Arc::new(TaskPlace::of(&key, config)),
            start: FirstStart::new(server.clone()),
            server,
            key,
            config: Arc::clone(config),
            support: Arc::clone(support),
            passed: settings::passed_methods(&config.pass_methods)?,
            lists,
            of_server: Arc::clone(of_server),
            by_all,
            state: ConnectionState::default(),
        })
    }

    /// Returns the description of the server by itself, if it is connected, or about to be for the first time.
    pub(super) fn description(&self) -> Option<ServerDescription> {
        let counts = self.state.current.load().is_some() || !self.start.is_over();
        counts.then(|| self.state.about.lock().clone())
    }

    /// Takes note of a task's status that the server reported. Returns the owner, and puts the owner's id into the status.
    pub(super) fn record_task_status(&self, status: &mut Object) -> Option<Principal> {
        self.support.tables.tasks.hear(&self.tasks_at, status)
    }

    /// Drops an incarnation that is over, and the tasks that ran beside it.
    pub(super) fn let_go(&self) {
        self.state.current.store(None);
        self.state.beside.lock().abort_all();
        *self.state.missed.lock() = MissedLists::default();
    }

    pub(super) fn note_error(&self, error: &Error) {
        let text = self.state.attempt.lock().failure(&self.config, *self.state.exit.lock(), error);
        *self.state.last_error.lock() = Some(text);
    }
}
