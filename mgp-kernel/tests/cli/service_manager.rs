//! Tests of kernels under service managers and in containers: sockets, messages, the number of files, the first process.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};

use crate::home::Home;
use crate::http;
use crate::kernel::Kernel;

/// A manager that reads what it is told as it comes.
fn reading(manager: UnixDatagram) -> Receiver<String> {
    let (messages, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut message = [0; 256];
        while let Ok(length) = manager.recv(&mut message) {
            if messages.send(String::from_utf8_lossy(&message[..length]).into_owned()).is_err() {
                return;
            }
        }
    });
    read
}

/// Waits for a message that begins like this, and returns it.
fn heard(manager: &Receiver<String>, beginning: &str) -> String {
    loop {
        let message = manager.recv_timeout(Duration::from_mins(1)).expect(beginning);
        if message.starts_with(beginning) {
            return message;
        }
    }
}

#[test]
fn a_service_manager_is_told_what_the_kernel_does() {
    let home = Home::with_state();
    let manager = reading(UnixDatagram::bind(home.path("notify")).unwrap());
    let at = home.path("notify").display().to_string();
    let variables = [("NOTIFY_SOCKET", at.as_str()), ("WATCHDOG_USEC", "200000")];
    let mut kernel = Kernel::start_where(&home, &variables, &["--http", "127.0.0.1:0", "--no-stdio"]);
    heard(&manager, "READY=1");
    heard(&manager, "WATCHDOG=1");
    kernel.signal("HUP");
    assert!(heard(&manager, "RELOADING=1\n").contains("MONOTONIC_USEC="));
    heard(&manager, "READY=1");
    home.done(["restart"]);
    heard(&manager, "RELOADING=1\n");
    heard(&manager, "READY=1");
    heard(&manager, "WATCHDOG=1");
    kernel.signal("TERM");
    heard(&manager, "STOPPING=1");
    assert_eq!(kernel.ended(), Some(0));
}

#[test]
fn a_socket_that_the_process_was_given_serves_clients_from_before_the_start() {
    let home = Home::with_state();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let early = TcpStream::connect(("127.0.0.1", port)).unwrap();
    // The numbers below that of the socket are of files that the process does not get.
    fcntl_setfd(&socket, FdFlags::empty()).unwrap();
    let mut command = home.command(["serve", "--foreground", "--no-stdio"]);
    command.env("LISTEN_FDS", (socket.as_raw_fd() - 2).to_string());
    let mut kernel = Kernel::of(&home, command);
    drop(socket);
    assert_eq!(kernel.port(), port);
    assert_eq!(early.peer_addr().unwrap().port(), port);
    assert_eq!(http::send(port, "GET", "/readyz", "", "").status, 200);
    home.done(["restart"]);
    assert_eq!(http::send(port, "GET", "/readyz", "", "").status, 200);
    kernel.signal("TERM");
    assert_eq!(kernel.ended(), Some(0));
}

/// A command of a shell that runs a kernel of this home with HTTP behind this line.
#[cfg(target_os = "linux")]
fn behind(home: &Home, line: &str) -> Command {
    let own = home.command(["serve"]);
    let mut command = Command::new("sh");
    let script = format!("{line}; exec \"$0\" serve --foreground --http 127.0.0.1:0 --no-stdio");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_mgp")]).env_clear();
    command.current_dir(own.get_current_dir().unwrap());
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[cfg(target_os = "linux")]
#[test]
fn the_number_of_files_is_raised_and_too_small_a_one_is_told() {
    let home = Home::with_state();
    let kernel = Kernel::of(&home, behind(&home, "ulimit -S -n 200"));
    kernel.port();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", kernel.child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<u64> = files.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // A hard limit that is no number is none.
    let most = numbers.get(1).map_or(65_536, |hard| (*hard).min(65_536));
    assert_eq!(numbers[0], most, "{files}");
    drop(kernel);
    let kernel = Kernel::of(&home, behind(&home, "ulimit -n 600"));
    kernel.tells("fewer clients can connect over HTTP");
    kernel.port();
}

#[cfg(target_os = "linux")]
#[test]
fn the_first_process_of_a_container_passes_signals_on_and_ends_as_its_kernel_does() {
    let may = Command::new("unshare").args(["-pf", "--mount-proc", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        println!("this user may make no namespace of processes: the first process of one is not tested");
        return;
    }
    let home = Home::with_state();
    let mgp = env!("CARGO_BIN_EXE_mgp");
    let line =
        format!("exec unshare -pf --mount-proc {mgp} serve --foreground --http 127.0.0.1:0 --no-stdio");
    let mut kernel = Kernel::of(&home, behind(&home, &line));
    let port = kernel.port();
    assert_eq!(http::send(port, "GET", "/readyz", "", "").status, 200);
    let outer = kernel.child.id();
    let first = crate::kernel::found("the first process is there", || {
        let children = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).ok()?;
        children.split_whitespace().next().map(str::to_owned)
    });
    assert!(Command::new("kill").args(["-s", "TERM", &first]).status().unwrap().success());
    assert_eq!(kernel.ended(), Some(0));
}
