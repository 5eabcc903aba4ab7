use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::ServerConfig;
use mgp_types::Error;
use mgp_types::mgp::{ServerId, ServerState};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::audit;
use super::back::{CurrentClient, ServerStack};
use super::confined::ProgramStart;
use super::connection_key::ConnectionKey;
use super::first_start::FirstStart;
use super::reports::CallReports;
use super::server_shared::ServerShared;
use super::stale_lists::{ListsToRefresh, StaleLists};
use super::support::ServerSupport;
use crate::parked_calls::{CallsInWork, ElicitationSessions};

/// The state of one connection to a server, which all that serves it shares.
pub(super) struct ConnectionShared {
    pub(super) server: ServerId,
    pub(super) line: ConnectionKey,
    pub(super) config: Arc<ServerConfig>,
    pub(super) support: Arc<ServerSupport>,
    pub(super) calls: CallsInWork,
    pub(super) elicitations: ElicitationSessions,
    pub(super) reports: CallReports,
    pub(super) changed: StaleLists,
    /// What it lists, if it is an agent's own.
    pub(super) lists: Arc<Catalog>,
    /// Whether it has ended for good, so that nothing of what it lists counts.
    pub(super) is_over: AtomicBool,
    pub(super) of_server: ServerShared,
    /// How the server does by all its connections, if it has one for each agent.
    pub(super) by_all: Option<StateByAll>,
    pub(super) start: FirstStart,
    pub(super) current: CurrentClient,
    /// What lies in front of the server. It leads to the supervisor, so it comes after it, and before the first connect.
    pub(super) back: OnceLock<ServerStack>,
    pub(super) publishing: tokio::sync::Mutex<()>,
    /// What is done beside the connection, for one incarnation.
    pub(super) beside: Mutex<JoinSet<()>>,
    /// How far it was told what is recorded.
    pub(super) audited: audit::AuditForwarding,
    /// Told when the server may not have what it needs.
    pub(super) rejected: Notify,
    /// How often humans were asked.
    pub(super) asked: watch::Sender<u64>,
    pub(super) last_error: Mutex<Option<String>>,
    pub(super) connected_at: Mutex<Option<Instant>>,
    pub(super) connects: AtomicU64,
    /// What the server says of itself.
    pub(super) about: Mutex<ServerDescription>,
    /// Lists that could not be had.
    pub(super) missed: Arc<Mutex<MissedLists>>,
    /// How its program was started last, for the folders that it has to itself.
    pub(super) started: Mutex<Option<ProgramStart>>,
    /// The number of the process; 0 if there is none.
    pub(super) pid: Arc<AtomicU32>,
}

/// Tells how a server does by all its connections; `None` once it is gone.
pub(super) type StateByAll = Box<dyn Fn() -> Option<ServerState> + Send + Sync>;

/// What a server says of itself that may reach a model.
#[derive(Default)]
pub(super) struct ServerDescription {
    pub(super) instructions: Option<Arc<str>>,
    pub(super) description: Option<Arc<str>>,
}

/// Lists that are asked for again in a while.
#[derive(Default)]
pub(super) struct MissedLists {
    /// Those that wait for it.
    pub(super) lists: ListsToRefresh,
    /// How often in a row one could not be had.
    pub(super) times: u32,
}

impl ConnectionShared {
    /// Lets go of an incarnation that is over, and of what was done beside it.
    pub(super) fn let_go(&self) {
        self.current.store(None);
        self.beside.lock().abort_all();
        *self.missed.lock() = MissedLists::default();
    }

    pub(super) fn note_error(&self, error: &Error) {
        let mut text = error.message().to_owned();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause.take().filter(|_| text.len() < MAX_ERROR_BYTES) {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        *self.last_error.lock() = Some(text);
    }
}

const MAX_ERROR_BYTES: usize = 1 << 10;
