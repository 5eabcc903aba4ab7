//! The state that all parts of one connection to a server share.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::ServerConfig;
use mgp_types::mgp::{ServerId, ServerState};
use mgp_types::{Error, Object};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::audit;
use super::confined::ProgramStart;
use super::connection_key::ConnectionKey;
use super::first_start::FirstStart;
use super::published_events::ServerChannels;
use super::reports::CallReports;
use super::server_shared::ServerShared;
use super::stale_lists::{ListsToRefresh, StaleLists};
use super::start_attempt::StartAttempt;
use super::support::ServerSupport;
use super::support::{CurrentClient, ServerStack};
use crate::approvals::ElicitationSessions;
use crate::call::calls_in_work::CallsInWork;

/// The state of one connection to a server, which all parts that serve it share.
pub(super) struct ConnectionShared {
    pub(super) server: ServerId,
    pub(super) line: ConnectionKey,
    pub(super) config: Arc<ServerConfig>,
    pub(super) support: Arc<ServerSupport>,
    pub(super) calls: CallsInWork,
    pub(super) elicitations: ElicitationSessions,
    pub(super) reports: CallReports,
    pub(super) changed: StaleLists,
    pub(super) channels: ServerChannels,
    /// The lists of the connection.
    pub(super) lists: Arc<Catalog>,
    /// True if the connection has ended for good, so that its lists do not count.
    pub(super) is_over: AtomicBool,
    pub(super) of_server: ServerShared,
    /// The state of the server over all its connections.
    pub(super) by_all: StateByAll,
    pub(super) start: FirstStart,
    pub(super) current: CurrentClient,
    /// The layers in front of the server. They lead to the supervisor, so they are set after it, and before the first
    /// connect.
    pub(super) back: OnceLock<ServerStack>,
    pub(super) publishing: tokio::sync::Mutex<()>,
    /// The tasks that run beside the connection, for one incarnation.
    pub(super) beside: Mutex<JoinSet<()>>,
    /// The place in the record up to which the server got it.
    pub(super) audited: audit::AuditForwarding,
    /// Notified when the server may not have what it needs.
    pub(super) rejected: Notify,
    /// The number of times that humans were asked.
    pub(super) asked: watch::Sender<u64>,
    pub(super) last_error: Mutex<Option<String>>,
    /// The attempt to connect that goes on, or the last one.
    pub(super) attempt: Mutex<StartAttempt>,
    pub(super) connected_at: Mutex<Option<Instant>>,
    pub(super) connects: AtomicU64,
    /// The description that the server gives of itself; until its first start is over, that by the connection in whose
    /// place this one begins.
    pub(super) about: Mutex<ServerDescription>,
    /// The lists that could not be fetched.
    pub(super) missed: Arc<Mutex<MissedLists>>,
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
    pub(super) lists: ListsToRefresh,
    /// The number of times in a row that a list could not be fetched.
    pub(super) times: u32,
}

impl ConnectionShared {
    /// Returns the description of the server by itself, if it is connected, or about to be for the first time.
    pub(super) fn description(&self) -> Option<ServerDescription> {
        let counts = self.current.load().is_some() || !self.start.is_over();
        counts.then(|| self.about.lock().clone())
    }

    /// Drops an incarnation that is over, and the tasks that ran beside it.
    pub(super) fn let_go(&self) {
        self.current.store(None);
        self.beside.lock().abort_all();
        *self.missed.lock() = MissedLists::default();
    }

    /// Begins another attempt to connect.
    pub(super) fn begin_attempt(&self) {
        *self.attempt.lock() = StartAttempt::default();
    }

    pub(super) fn note_error(&self, error: &Error) {
        let text = self.attempt.lock().failure(&self.config, *self.exit.lock(), error);
        *self.last_error.lock() = Some(text);
    }
}
