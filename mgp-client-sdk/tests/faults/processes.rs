//! Servers that are real processes, and are killed one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_transport::child::ChildCommand;
use mgp_types::{Error, Origin};
use serde_json::json;
use tokio::time::Instant;

use crate::machine::{Held, group_of, kill, left_behind};
use crate::play::PlainClient;
use crate::rng::Rng;
use crate::runner::{left_over, tasks};

/// How many servers there are.
const SERVERS: usize = 50;
/// How often one of them is killed.
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
        *'"tools/call"'*)
            nonce=${line#*'"nonce":'}; nonce=${nonce%%[!0-9]*}
            say '"result":{"resultType":"complete","content":[{"type":"text","text":"'"$nonce:$$:$pad"'"}]}' ;;
        *) say '"error":{"code":-32601,"message":"no"}' ;;
    esac
done
"#;

/// One of the servers, as others see it.
#[derive(Default)]
struct Server {
    /// The number of its process, 0 while there is none.
    pid: AtomicU32,
    kills: AtomicU64,
    calls: AtomicU64,
    losses: AtomicU64,
}

/// Starts a server, at first and whenever it was lost. It is here that a supervisor would come in.
async fn start(number: usize) -> Result<PlainClient, Error> {
    let era = if number.is_multiple_of(2) { "session" } else { "stateless" };
    let command = || ChildCommand::new("/bin/sh").args(["-c", SCRIPT, era]);
    Client::builder("tester", "1.0.0").connect_child(command).await
}

/// Calls a server all the time, and has it started again when it is lost.
async fn keep_calling(number: usize, server: Arc<Server>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let client = start(number).await.unwrap();
        let lost = call_until_lost(&client, &server, &stop).await;
        server.pid.store(0, Ordering::Relaxed);
        match lost {
            None => client.close().await.unwrap(),
            Some(error) => {
                assert_eq!(error.origin(), Origin::Connection, "server {number}: {error:?}");
                let losses = server.losses.fetch_add(1, Ordering::Relaxed) + 1;
                assert!(losses <= server.kills.load(Ordering::Relaxed), "server {number} was not killed");
            }
        }
    }
}

async fn call_until_lost(client: &PlainClient, server: &Server, stop: &AtomicBool) -> Option<Error> {
    while !stop.load(Ordering::Relaxed) {
        let nonce = server.calls.fetch_add(1, Ordering::Relaxed);
        let result = match client.call_tool("echo", json!({"nonce": nonce})).await {
            Ok(result) => result,
            Err(error) => return Some(error),
        };
        let mut answer = result.content[0].as_text().unwrap().split(':');
        assert_eq!(answer.next(), Some(&*nonce.to_string()));
        server.pid.store(answer.next().unwrap().parse().unwrap(), Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    None
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
        server.kills.fetch_add(1, Ordering::Relaxed);
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
    let servers: Vec<_> = (0..SERVERS).map(|_| Arc::<Server>::default()).collect();
    let stop = Arc::<AtomicBool>::default();
    let each = servers.iter().enumerate();
    let callers: Vec<_> = each
        .map(|(number, server)| tokio::spawn(keep_calling(number, server.clone(), stop.clone())))
        .collect();
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
    let total = |count: fn(&Server) -> &AtomicU64| -> u64 {
        servers.iter().map(|server| count(server).load(Ordering::Relaxed)).sum()
    };
    let (kills, losses) = (total(|server| &server.kills), total(|server| &server.losses));
    println!("{kills} kills, {} calls, {at_first:?}, {warm:?}, {used:?}", total(|server| &server.calls));
    assert!(kills > 0 && losses <= kills, "{losses} of {kills} noticed");
    // One that was hit again before its first end was noticed is lost only once.
    assert!(losses * 10 >= kills * 9, "{losses} of {kills} noticed");
    assert!(used.resident_pages <= warm.resident_pages * 11 / 10, "{warm:?}, then {used:?}");
    assert!(used.descriptors <= warm.descriptors * 11 / 10, "{warm:?}, then {used:?}");
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
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    println!("{told}");
}

/// What is held after so long is what is held from then on.
const WARM_UP: Duration = Duration::from_secs(2);
