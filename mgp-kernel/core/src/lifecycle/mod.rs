//! The kernel's own lifecycle: whether it takes calls, who is connected, and how it was started.

pub(crate) mod page_door;
pub mod socket_connections;

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use mgp_lifecycle::server::ServerLifecycle;
use mgp_types::mgp::{ServerId, Timestamp};
use mgp_types::{Flow, Gate, Method, Request, RequestKind, WorkRole};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, SetOnce, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use self::page_door::PageDoor;
use self::socket_connections::SocketConnections;
use crate::peer::ConnectedClients;

/// The kernel's own server id; no server behind it may have this id.
pub const KERNEL: &str = "mgp";

mgp_types::with_defaults! {
    /// The lifecycle of one kernel, from its start to its end.
    pub struct Lifecycle {
        /// The lifecycle of the kernel as its clients see it.
        pub(crate) life: ServerLifecycle = ServerLifecycle::new(ServerId::from(KERNEL)),
        /// The agents and operators that are connected at its sockets.
        pub(crate) connections: SocketConnections = SocketConnections::default(),
        /// The processes of the clients that have connected.
        pub(crate) clients: ConnectedClients = ConnectedClients::default(),
        /// The conditions under which the kernel was started. Set once, when it serves.
        pub served: OnceLock<Arc<ServedKernel>> = OnceLock::new(),
        /// The way in which operators get to the page.
        pub(crate) page: PageDoor = PageDoor::default(),
        /// The calls that clients wait for.
        pub(crate) unanswered: UnansweredCalls = UnansweredCalls::default(),
        /// The way in which the kernel was told to end, once it was.
        end: SetOnce<KernelEnd> = SetOnce::new(),
    }
}

impl Lifecycle {
    /// Returns whether the kernel was told to end, and takes no more calls soon.
    pub(crate) fn is_stopping(&self) -> bool {
        self.end.get().is_some()
    }

    /// Waits until the kernel was told to end.
    pub(crate) async fn stopping(&self) {
        self.end.wait().await;
    }

    /// Returns whether another kernel is to follow this one in its process.
    pub(crate) fn is_restarting(&self) -> bool {
        self.end.get() == Some(&KernelEnd::Restart)
    }

    /// Notes how the kernel is told to end. The first order counts.
    pub(crate) fn set_ending(&self, end: KernelEnd) {
        let _ = self.end.set(end);
    }
}

/// The conditions under which the kernel was started, which are known once it serves.
#[derive(Debug)]
pub struct ServedKernel {
    pub(crate) since: Timestamp,
    /// The time for which the kernel goes on without anybody connected; `None` for a kernel that does not end by
    /// itself.
    pub(crate) linger: Option<Duration>,
    /// The files of the kernel's configuration.
    pub(crate) files: Vec<PathBuf>,
    /// The address for clients over HTTP, if there is one.
    pub(crate) http: Mutex<Option<HttpListening>>,
    /// True if the client that started the kernel talks to it on standard input and output.
    pub(crate) has_stdio: bool,
    /// Notified when an operator wants the kernel to end.
    pub(crate) stop: Notify,
    /// Notified when an operator wants another kernel to follow this one in its process.
    pub(crate) restart: Notify,
}

/// The way in which a kernel is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelEnd {
    /// The kernel stops.
    Stop,
    /// The program at the path of this one takes the place of this one, with its sockets.
    Restart,
}

impl ServedKernel {
    /// Checks that another kernel can follow this one in its process.
    ///
    /// # Errors
    /// None can, for the reason that the text says.
    pub async fn check_restart(&self) -> Result<(), String> {
        if cfg!(windows) {
            return Err(
                "run `mgp stop`: on Windows the next client or command starts the new kernel".to_owned()
            );
        }
        if self.has_stdio {
            return Err("this kernel ends with the client that started it, which restarts it".to_owned());
        }
        check_successor().await
    }
}

/// An address for clients over HTTP.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HttpListening {
    /// The address at which the kernel listens.
    pub address: SocketAddr,
    /// The reason why the kernel does not listen there yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Waits for this future; without one, for ever.
pub(crate) async fn or_never<T>(future: Option<impl Future<Output = T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Waits until the kernel is told to stop.
pub(crate) async fn wait_for_stop(mut stopped: watch::Receiver<bool>) {
    // Waiting fails only if the sender is gone.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Returns the path at which this program was started, which leads to the next version after an upgrade: as it was named, if
/// that was a whole path, for a link may lead to another file by then.
pub fn installed() -> PathBuf {
    let named = env::args_os().next().map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute() && !path.starts_with("/proc"));
    named.unwrap_or_else(|| {
        let own = env::current_exe().unwrap_or_default();
        // So the system names a file that has been replaced or removed.
        let replaced = own.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
        replaced.unwrap_or(own)
    })
}

/// Checks that the program at the path of this one starts, and is an `mgp`.
///
/// # Errors
/// The program cannot take the place of this one, for the reason that the text says.
pub(crate) async fn check_successor() -> Result<(), String> {
    let program = installed();
    let mut asking = Command::new(&program);
    asking.arg("--version").stdin(Stdio::null());
    let why = match timeout(LONGEST_ANSWER, spawn_blocking(move || asking.output())).await {
        Ok(Ok(Ok(answer))) if answer.stdout.starts_with(b"mgp ") => return Ok(()),
        Ok(Ok(Err(error))) => error.to_string(),
        _ => "`--version` gives no version of mgp".to_owned(),
    };
    Err(format!("the kernel goes on, because {} cannot follow it: {why}", program.display()))
}

/// The time that a program has to tell its version.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// A gate that keeps track of the calls that clients wait for. Clones share the calls.
///
/// Sits in front of everything else, so that a call which was answered with a question or a task is over. Subscriptions do
/// not count, and neither do requests that begin no work, such as those of operators. Costs two atomic operations for a call.
#[derive(Clone, Default)]
pub(crate) struct UnansweredCalls(Arc<ArcSwap<CallGeneration>>);

/// The calls that began between two moments. When the last one is over, whoever waits for them is notified.
#[derive(Default)]
pub(crate) struct CallGeneration(Arc<Notify>);

impl UnansweredCalls {
    /// Waits until the calls that are in work now are answered, whatever begins meanwhile.
    pub(crate) async fn answered(&self) {
        let generation = self.0.swap(Arc::default());
        let over = Arc::clone(&generation.0);
        drop(generation);
        over.notified().await;
    }
}

impl Gate for UnansweredCalls {
    type Pass = Option<Arc<CallGeneration>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let counts = request.kind == RequestKind::Call
            && request.method != Method::LISTEN
            && request.role() != WorkRole::Apart;
        Flow::Pass(counts.then(|| self.0.load_full()))
    }
}

impl Drop for CallGeneration {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use mgp_types::Object;

    use super::*;

    fn begin(calls: &UnansweredCalls, method: Method) -> Option<Arc<CallGeneration>> {
        match calls.enter(&mut Request::call(method, Object::new())) {
            Flow::Pass(pass) => pass,
            _ => unreachable!("the gate lets everything pass"),
        }
    }

    #[test]
    fn only_the_calls_that_are_there_are_waited_for() {
        let calls = UnansweredCalls::default();
        assert!(calls.answered().now_or_never().is_some(), "nothing is in work");
        let (first, second) = (begin(&calls, Method::TOOLS_CALL), begin(&calls, Method::TOOLS_CALL));
        let mut answered = Box::pin(calls.answered());
        assert!((&mut answered).now_or_never().is_none());
        let later = begin(&calls, Method::TOOLS_CALL);
        drop(first);
        assert!((&mut answered).now_or_never().is_none());
        drop(second);
        assert!(answered.now_or_never().is_some());
        assert!(calls.answered().now_or_never().is_none(), "the later call is in work");
        drop(later);
    }

    #[test]
    fn what_waits_without_an_end_is_not_waited_for() {
        let calls = UnansweredCalls::default();
        assert!(begin(&calls, Method::LISTEN).is_none());
        assert!(begin(&calls, Method::from_static("kernel/permissions/watch")).is_none());
    }
}
