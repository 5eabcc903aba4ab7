//! Servers that are real processes, kept alive, and killed one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use mgp_client_sdk::{Client, PlainStack, RestartSettings, StandingRequestsService, Supervised};
use mgp_transport::Wire;
use mgp_transport::child::ChildCommand;
use mgp_types::mgp::{ServerState, ShutdownReason, code};
use mgp_types::{Error, Origin};
use serde_json::json;
use tokio::time::Instant;

use crate::machine::{Held, group_of, kill, left_behind};
use crate::rng::Rng;
use crate::runner::{left_over, tasks};
use crate::tally::Tally;

/// The number of servers.
const SERVERS: usize = 50;
/// The time between two kills.
const PERIOD: Duration = Duration::from_millis(100);
/// For how many seconds, if not for three. `FAULT_SECONDS=120` is the long form.
const SECONDS: &str = "FAULT_SECONDS";
/// Set in the process that has the servers.
const ALONE: &str = "FAULT_ALONE";

/// A server as a script, in the era that `$0` names. Each answer to a call has the number of its process.
///
/// It is as long as real ones are, so that the buffers of the connections are soon as large as they get.
const SCRIPT: &str = r#"
pad=$(printf '%02048d' 0)
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
    case $line in *'"id":'*) ;; *) continue ;; esac
    id=${line#*'"id":'}; id=${id%%,*}
    case $0$line in
        stateless*'"server/discover"'*)
            say '"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
        session*'"initialize"'*)
            say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
        *'"tools/list"'*)
            say '"result":{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*)
            nonce=${line#*'"nonce":'}; nonce=${nonce%%[!0-9]*}
            say '"result":{"resultType":"complete","content":[{"type":"text","text":"'"$nonce:$$:$pad"'"}]}' ;;
        *) say '"error":{"code":-32601,"message":"no"}' ;;
    esac
done
"#;

/// A server of the test, as seen from outside.
struct Server {
    supervised: Supervised<Client<StandingRequestsService<PlainStack<Wire>>>>,
    /// The number of its process, 0 while there is none.
    pid: AtomicU32,
    /// The number of the process that was killed last.
    killed: AtomicU32,
    calls: AtomicU64,
    tally: Tally,
}

impl Server {
    fn new(number: usize, tally: Tally) -> Arc<Self> {
        let era = if number.is_multiple_of(2) { "session" } else { "stateless" };
        let connect = move || {
            let command = move || ChildCommand::new("/bin/sh").args(["-c", SCRIPT, era]);
            Client::builder("tester", "1.0.0").connect_child(command)
        };
        let mut restarts = RestartSettings::default();
        // They are killed as often as they can be.
        (restarts.max_restarts, restarts.restart_window_secs) = (u32::MAX, 1);
        (restarts.backoff_base_ms, restarts.backoff_max_ms) = (20, 100);
        let supervisor = Client::supervise(format!("server-{number}").as_str(), connect);
        Arc::new(Self {
            supervised: supervisor.with_restarts(restarts).spawn(),
            pid: AtomicU32::default(),
            killed: AtomicU32::default(),
            calls: AtomicU64::default(),
            tally,
        })
    }

    /// Calls the server all the time, whether it is there or not.
    async fn keep_calling(self: Arc<Self>, stop: Arc<AtomicBool>) {
        self.supervised.start();
        self.supervised.ready(Duration::from_secs(20)).await.unwrap();
        let (mut process, mut last_success) = (0, Instant::now());
        while !stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            match self.call().await {
                Ok(answered_by) => {
                    if process != answered_by && process != 0 {
                        let down = last_success.elapsed();
                        assert!(down < LONGEST_DOWN, "it was down for {down:?}");
                    }
                    (process, last_success) = (answered_by, Instant::now());
                    // One that was killed meanwhile is not there any more, whatever it answered before.
                    if self.killed.load(Ordering::Relaxed) != process {
                        self.pid.store(process, Ordering::Relaxed);
                    }
                }
                Err(error) => {
                    let took = began.elapsed();
                    assert!(took < SLOWEST_FAILURE, "it failed after {took:?}: {error:?}");
                    self.note(&error, process);
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the number of the process that answered.
    async fn call(&self) -> Result<u32, Error> {
        let nonce = self.calls.fetch_add(1, Ordering::Relaxed);
        self.tally.count("calls");
        let client = self.supervised.current()?;
        let result = client.call_tool("echo", json!({"nonce": nonce})).await?;
        let mut answer = result.content[0].as_text().unwrap().split(':');
        assert_eq!(answer.next(), Some(&*nonce.to_string()));
        Ok(answer.next().unwrap().parse().unwrap())
    }

    /// Notes a failed call; `process` is the last one that answered.
    fn note(&self, error: &Error, process: u32) {
        let was_killed = process != 0 && self.killed.load(Ordering::Relaxed) == process;
        let recovery = error.recovery();
        let waits =
            recovery.is_some_and(|recovery| recovery.may_retry() && recovery.retry_after_ms.is_some());
        self.tally.count(match (was_killed, error.origin()) {
            (true, Origin::Connection) => "lost in flight",
            (true, Origin::Local) if error.code() == code::SERVER_RESTARTING && waits => "refused while down",
            _ => panic!("{} {:?}: {error:?}", self.supervised.server().as_str(), self.supervised.state()),
        });
    }

    /// Counts how often it is started again.
    async fn count_restarts(self: Arc<Self>) {
        let mut changes = self.supervised.changes();
        while let Some(change) = changes.next().await {
            if change.new_state == ServerState::Restarting {
                self.tally.count("restarts");
            }
        }
    }
}

/// Kills one server after the other until `end`, and returns the groups they had.
async fn kill_one_by_one(servers: &[Arc<Server>], rng: &mut Rng, end: Instant) -> Vec<u32> {
    let mut groups = Vec::new();
    while Instant::now() < end {
        tokio::time::sleep(PERIOD).await;
        let server = &servers[usize::try_from(rng.within(0..SERVERS as u64)).unwrap()];
        let pid = server.pid.swap(0, Ordering::Relaxed);
        if pid == 0 {
            continue;
        }
        groups.extend(group_of(pid));
        server.killed.store(pid, Ordering::Relaxed);
        server.tally.count("kills");
        let whole_group = rng.chance(50);
        tokio::task::spawn_blocking(move || kill(pid, whole_group)).await.unwrap();
    }
    groups
}

/// Waits until each server has been called successfully.
async fn all_are_up(servers: &[Arc<Server>]) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while servers.iter().any(|server| server.pid.load(Ordering::Relaxed) == 0) {
        assert!(Instant::now() < deadline, "not all servers are up");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Fifty servers for so long: what is held in the end is what was held after a while.
async fn have_servers(time: Duration) {
    let (at_first, before) = (Held::now(), tasks());
    let tally = Tally::default();
    let servers: Vec<_> = (0..SERVERS).map(|number| Server::new(number, tally.clone())).collect();
    let stop = Arc::<AtomicBool>::default();
    let each = servers.iter();
    let callers: Vec<_> =
        each.clone().map(|server| tokio::spawn(server.clone().keep_calling(stop.clone()))).collect();
    let counters: Vec<_> = each.map(|server| tokio::spawn(server.clone().count_restarts())).collect();
    all_are_up(&servers).await;
    let mut rng = Rng::new(7);
    let mut groups = kill_one_by_one(&servers, &mut rng, Instant::now() + WARM_UP).await;
    all_are_up(&servers).await;
    let warm = Held::now();
    groups.extend(kill_one_by_one(&servers, &mut rng, Instant::now() + time).await);
    all_are_up(&servers).await;
    let used = Held::now();
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    println!("{tally:?}\nat first {at_first:?}\nwarm {warm:?}\nused {used:?}");
    assert!(tally.of("kills") > 0 && tally.of("restarts") == tally.of("kills"), "{tally:?}");
    assert!(tally.of("calls") > SERVERS * 10, "{tally:?}");
    assert!(tally.of("lost in flight") + tally.of("refused while down") > 0, "{tally:?}");
    assert!(used.resident_pages <= warm.resident_pages * 11 / 10, "{warm:?}, then {used:?}");
    assert!(used.descriptors <= warm.descriptors * 11 / 10, "{warm:?}, then {used:?}");
    for server in &servers {
        server.supervised.stop(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
        assert_eq!(server.supervised.state(), ServerState::Disconnected);
    }
    for counter in counters {
        counter.abort();
    }
    drop(servers);
    nothing_is_left(&groups, before, at_first).await;
}

async fn nothing_is_left(groups: &[u32], tasks_before: usize, at_first: Held) {
    let deadline = Instant::now() + Duration::from_secs(10);
    // Pipes and the watch on children of the runtime itself stay.
    let descriptors = at_first.descriptors + 4;
    while !left_behind(groups).is_empty() || Held::now().descriptors > descriptors {
        assert!(Instant::now() < deadline, "{:?} left, {:?}", left_behind(groups), Held::now());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(left_over(tasks_before).await, 0);
}

/// Not a test: what the next one starts, for what it holds must be nobody else's.
#[tokio::test]
async fn a_process_of_its_own() {
    if std::env::var_os(ALONE).is_some() {
        let seconds = std::env::var(SECONDS).map_or(3, |seconds| seconds.parse().unwrap());
        have_servers(Duration::from_secs(seconds)).await;
    }
}

#[tokio::test]
async fn servers_that_are_killed_leave_the_others_alone_and_nothing_behind() {
    let mut alone = tokio::process::Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "processes::a_process_of_its_own", "--nocapture"]).env(ALONE, "1");
    let output = alone.kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    println!("{text}");
}

/// The time after which a process holds no more resources than before.
const WARM_UP: Duration = Duration::from_secs(2);
/// The longest that a call takes to fail, and that a server is down: generous, for the machine may have other things to do.
const SLOWEST_FAILURE: Duration = Duration::from_secs(2);
const LONGEST_DOWN: Duration = Duration::from_secs(15);
