//! Servers as child processes: the ways in which they end, without a trace.
#![cfg(all(target_os = "linux", feature = "child"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use mgp_transport::child::{ChildCommand, ChildProcess, ChildStdin, StderrTarget};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdout;
use tokio::time::{Instant, timeout};

const PARENT: &str = "MGP_TEST_CHILD_PARENT";
const SHORT: Duration = Duration::from_millis(100);

fn shell(script: &str) -> ChildCommand {
    ChildCommand::new("sh").args(["-c", script]).exit_timeout(SHORT).terminate_timeout(SHORT)
}

/// Starts a server that says when it is ready, by a line that holds its group.
async fn ready(command: ChildCommand) -> (ChildProcess, BufReader<ChildStdout>, ChildStdin, i32) {
    let (process, stdout, stdin) = command.spawn().unwrap();
    let group = group_of(process.id().unwrap());
    let mut stdout = BufReader::new(stdout);
    let mut line = String::new();
    stdout.read_line(&mut line).await.unwrap();
    assert_eq!(line, "ready\n");
    (process, stdout, stdin, group)
}

fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

fn group_of(pid: u32) -> i32 {
    stat(pid).unwrap()[2].parse().unwrap()
}

/// Returns the processes of a group that run; those that only wait to be waited for do not.
fn alive(group: i32) -> Vec<u32> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| {
        stat(pid).is_some_and(|stat| stat[2] == group.to_string() && stat[0] != "Z" && stat[0] != "X")
    })
    .collect()
}

async fn nobody_is_left_of(group: i32) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !alive(group).is_empty() {
        assert!(Instant::now() < deadline, "still running: {:?}", alive(group));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// covers: BASE-27
#[tokio::test]
async fn a_server_exits_when_its_stdin_closes_or_is_terminated() {
    for (script, patience, code) in [
        ("echo ready; cat >/dev/null; exit 3", SHORT * 50, 3),
        ("trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done", SHORT, 4),
    ] {
        let command = shell(script).exit_timeout(patience).terminate_timeout(SHORT * 50);
        let (process, _stdout, _stdin, group) = ready(command).await;
        assert_eq!(process.shutdown().await.unwrap().code(), Some(code));
        nobody_is_left_of(group).await;
    }
}

// covers: BASE-27
#[tokio::test]
async fn a_server_that_ignores_sigterm_is_killed_in_time() {
    let script = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    let (process, _stdout, _stdin, group) = ready(shell(script)).await;
    let start = Instant::now();
    assert_eq!(process.shutdown().await.unwrap().signal(), Some(9));
    assert!(start.elapsed() >= SHORT * 2 && start.elapsed() < SHORT * 50);
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn a_server_that_exits_at_once_is_reported_as_such() {
    let (mut process, mut stdout, _stdin) = shell("exit 7").spawn().unwrap();
    let group = group_of(process.id().unwrap());
    assert_eq!(stdout.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    assert_eq!(process.wait().await.unwrap().code(), Some(7));
    assert_eq!(process.shutdown().await.unwrap().code(), Some(7));
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error() {
    assert!(ChildCommand::new("/does/not/exist").spawn().is_err());
}

#[tokio::test]
async fn a_grandchild_that_outlives_the_server_is_killed() {
    let script = "trap '' TERM; (trap '' TERM; sleep 1000) & echo ready; read -r _; exit 0";
    let (process, _stdout, _stdin, group) = ready(shell(script).exit_timeout(SHORT * 50)).await;
    assert!(alive(group).len() >= 2);
    assert!(process.shutdown().await.unwrap().success());
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn a_grandchild_goes_when_the_server_is_seen_to_have_exited() {
    let script = "(trap '' TERM; exec sleep 1000) & echo ready; read -r _; exit 0";
    let (mut process, _stdout, stdin, group) = ready(shell(script)).await;
    drop(stdin);
    assert!(process.wait().await.unwrap().success());
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn dropping_a_server_kills_its_group() {
    let script = "trap '' TERM; sleep 1000 & echo ready; wait";
    let (process, _stdout, _stdin, group) = ready(shell(script)).await;
    drop(process);
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn dropping_a_shutdown_kills_the_group() {
    let script = "trap '' TERM; sleep 1000 & echo ready; wait";
    let (process, _stdout, _stdin, group) = ready(shell(script).exit_timeout(SHORT * 100)).await;
    assert!(timeout(SHORT, process.shutdown()).await.is_err());
    nobody_is_left_of(group).await;
}

/// Not a test: what the next one starts and kills.
#[tokio::test]
async fn a_parent_that_is_killed() {
    if std::env::var_os(PARENT).is_none() {
        return;
    }
    let script = "trap '' HUP TERM; sleep 1000 & echo ready; wait";
    let (_process, _stdout, _stdin, group) = ready(shell(script)).await;
    println!("\ngroup {group}");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn the_group_dies_with_this_process() {
    let mut parent = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_parent_that_is_killed", "--nocapture"])
        .env(PARENT, "1")
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let group = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(group) = line.strip_prefix("group ") {
            break group.parse().unwrap();
        }
    };
    assert!(alive(group).len() >= 3);
    parent.kill().await.unwrap();
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn shutdown_closes_a_stdin_that_somebody_still_writes_to() {
    let (process, _stdout, mut stdin, group) =
        ready(shell("echo ready; sleep 0.2; exit 0").exit_timeout(SHORT * 50)).await;
    let writing = tokio::spawn(async move {
        loop {
            if let Err(error) = stdin.write_all(&[b'x'; 1 << 13]).await {
                return error.kind();
            }
        }
    });
    tokio::task::yield_now().await;
    assert!(process.shutdown().await.unwrap().success());
    assert_eq!(timeout(SHORT * 50, writing).await.unwrap().unwrap(), std::io::ErrorKind::BrokenPipe);
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn a_server_that_floods_stdout_still_ends() {
    let (process, stdout, _stdin) = shell("trap '' TERM; yes").spawn().unwrap();
    let group = group_of(process.id().unwrap());
    let mut some = vec![0; 1 << 20];
    let mut stdout = stdout;
    stdout.read_exact(&mut some).await.unwrap();
    assert!(process.shutdown().await.unwrap().signal().is_some());
    nobody_is_left_of(group).await;
}

#[tokio::test]
async fn stderr_comes_line_by_line_and_in_pieces_if_long() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let script =
        "echo one >&2; head -c 10000 /dev/zero | tr '\\0' x >&2; echo >&2; echo ready; cat >/dev/null";
    let command =
        shell(script).stderr(StderrTarget::lines(move |line: &str| seen.lock().push(line.to_owned())));
    let (process, _stdout, _stdin, _) = ready(command).await;
    timeout(Duration::from_secs(5), async {
        while lines.lock().iter().map(String::len).sum::<usize>() < 10_003 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(lines.lock()[0], "one");
    assert_eq!(lines.lock()[1].len(), 8 << 10);
    process.shutdown().await;
}

#[tokio::test]
async fn the_last_lines_of_a_server_that_ended_are_read_though_nobody_holds_it_any_more() {
    let (lines, mut read) = tokio::sync::mpsc::unbounded_channel();
    let stderr = StderrTarget::lines(move |line: &str| lines.send(line.to_owned()).unwrap());
    let (process, ..) = shell("echo HUB_KEY is missing >&2; exit 1").stderr(stderr).spawn().unwrap();
    let pid = process.id().unwrap();
    // Nothing else runs meanwhile, so nobody has read the line when the process is dropped.
    while stat(pid).is_some_and(|fields| fields[0] != "Z") {
        std::thread::yield_now();
    }
    drop(process);
    assert_eq!(read.recv().await.as_deref(), Some("HUB_KEY is missing"));
}

#[tokio::test]
async fn the_environment_and_folder_are_as_asked() {
    let command = ChildCommand::new("/bin/sh")
        .arg("-c")
        .arg("echo \"$A $B $HOME\"; pwd; echo ready")
        .env_clear()
        .env("A", "1")
        .env("B", "2")
        .env_remove("B")
        .current_dir("/");
    let (process, mut stdout, _stdin) = command.spawn().unwrap();
    let mut said = String::new();
    stdout.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "1  \n/\nready\n");
    process.shutdown().await;
}
