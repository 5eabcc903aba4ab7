//! Many calls at once for a while: how long they take, and what the kernel holds afterwards.

use std::fs;
use std::time::Duration;

use mgp_client_sdk::Client;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::home::Home;
use crate::host::{listed, say};
use crate::kernel::Kernel;
use crate::runner::tests;
use crate::scripted::{SERVE, Script};

tests![calls_of_many_clients_are_answered_in_time_and_leave_nothing_behind if tells_of_processes];

const CLIENTS: usize = 8;
const CALLS_OF_CLIENT: usize = 250;
/// The rounds after the first ones, which fill caches and pools, whose size is no leak.
const ROUNDS: usize = 6;

fn tells_of_processes() -> bool {
    fs::exists("/proc/self/statm").unwrap_or_default()
}

// covers: GGEN-8.5-04
async fn calls_of_many_clients_are_answered_in_time_and_leave_nothing_behind() {
    let script = Script::named(&["works"]);
    let home = Home::with_state();
    let arguments = script.server("files")["args"].clone();
    let program = std::env::current_exe().unwrap().display().to_string();
    home.configure(&format!(
        "[tools]\nlevel = \"L0\"\n[confirmation]\ndangerous = false\n\
         [permissions]\npolicy = \"auto_approve\"\nnever_automatic = []\n\
         [[servers]]\nid = \"files\"\ncommand = {program:?}\nargs = {arguments}\n"
    ));
    assert_eq!(arguments[0], SERVE);
    // A process of its own, which holds nothing of other tests.
    let (kernel, port) = Kernel::on_http(&home);
    let url = format!("http://127.0.0.1:{port}/mcp");
    for _ in 0..2 {
        round(&url).await;
    }
    let (pid, calls) = (kernel.child.id(), script.calls().len());
    let before = Held::by(pid);
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        took.extend(round(&url).await);
    }
    let after = Held::by(pid);
    assert_eq!(script.calls().len() - calls, ROUNDS * CLIENTS * CALLS_OF_CLIENT, "each call was made once");
    took.sort_unstable();
    let share = |percent: usize| took[(took.len() - 1) * percent / 100];
    let (p50, p99) = (share(50), share(99));
    println!("{} calls of {CLIENTS} clients: p50 {p50:?}, p99 {p99:?}, {before:?}, {after:?}", took.len());
    assert!(p50 < Duration::from_secs(1), "p50 {p50:?}");
    assert!(p99 < Duration::from_secs(5), "p99 {p99:?}");
    assert!(after.files <= before.files + CLIENTS, "{before:?} {after:?}");
    // A kibibyte that each call leaves behind would be seen.
    assert!(after.memory <= before.memory + took.len() * 1024, "{before:?} {after:?}");
}

/// Has clients that come for this round make their calls at once, and returns how long each call took.
async fn round(url: &str) -> Vec<Duration> {
    let mut running = JoinSet::new();
    for number in 0..CLIENTS {
        let client = Client::builder("tests", "1.0.0").mgp(None).connect_http(url).await.unwrap().boxed();
        listed(&client, "files__works").await;
        running.spawn(async move {
            let took = calls(&client, number).await;
            client.close().await.unwrap();
            took
        });
    }
    running.join_all().await.concat()
}

/// Makes the calls of a client, and returns how long each of them took.
async fn calls(client: &Client, number: usize) -> Vec<Duration> {
    let mut took = Vec::with_capacity(CALLS_OF_CLIENT);
    for call in 0..CALLS_OF_CLIENT {
        let arguments = json!({"a": format!("{number} {call}")});
        let began = Instant::now();
        let reply = say(client, "files__works", arguments.clone()).await;
        took.push(began.elapsed());
        assert_eq!(reply, arguments.to_string());
    }
    took
}

/// What a process holds of the system: open files, and bytes of memory.
#[derive(Debug)]
struct Held {
    files: usize,
    memory: usize,
}

impl Held {
    fn by(pid: u32) -> Self {
        let pages = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
        let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
        // Only root sees the files of a kernel.
        let files = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        Self { files, memory: pages * PAGE_BYTES }
    }
}

const PAGE_BYTES: usize = 4096;
