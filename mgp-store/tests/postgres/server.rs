//! Servers of PostgreSQL that end with the test.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mgp_store::Postgres;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The runtime of all connections.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// The server for tests that leave it alone, and change databases of their own only.
pub(crate) static COMMON: LazyLock<Server> = LazyLock::new(Server::start);

/// A server of PostgreSQL.
#[derive(Debug)]
pub(crate) struct Server {
    /// The shell that ends the server once its input ends, even if that is because the test was killed.
    shell: Child,
    folder: TempDir,
    port: u16,
}

impl Server {
    /// Starts a server. Where none is installed, the tests end here, and do not fail.
    pub(crate) fn start() -> Self {
        let Some(programs) = programs() else {
            eprintln!("left out: the tests over PostgreSQL, for `initdb` is not installed");
            std::process::exit(0);
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if rustix::process::geteuid().is_root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        let mut shell = as_user("sh")
            .args(["-c", include_str!("server.sh"), "sh"])
            .args([folder.path().as_os_str(), port.to_string().as_ref(), programs.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut told).unwrap();
        let log = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        assert_eq!(told, "ready\n", "{}", log());
        Self { shell, folder, port }
    }

    /// Returns the address of a database, with what is added to it.
    pub(crate) fn url(&self, database: &str, more: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}{more}", self.port)
    }

    /// Returns the name of a new database with the tables in it.
    pub(crate) fn new_database(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        execute(&self.connect("postgres"), &format!("CREATE DATABASE {name}"));
        RUNTIME.block_on(self.connect(&name).init()).unwrap();
        name
    }

    /// Returns connections of their own to a database, as each kernel has them.
    pub(crate) fn connect(&self, database: &str) -> Postgres {
        let _runtime = RUNTIME.enter();
        Postgres::new(&self.url(database, ""), None).unwrap()
    }

    /// Sends a signal to all processes of the server.
    pub(crate) fn signal(&self, signal: Signal) {
        let first = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let first = first.lines().next().unwrap();
        // The first starts no others once it has stopped.
        let mut all = vec![first.to_owned()];
        if signal == Signal::STOP {
            send(first, signal);
        }
        let children = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
        all.extend(children.split_whitespace().map(str::to_owned));
        for process in &all {
            send(process, signal);
        }
    }

    /// Ends the server as a loss of power would, and starts it again, with these settings from then on.
    pub(crate) fn restart(&self, settings: &str) {
        let mut file = std::fs::read_to_string(self.data().join("postgresql.conf")).unwrap();
        file.push_str(settings);
        std::fs::write(self.data().join("postgresql.conf"), file).unwrap();
        let (data, log) = (self.data(), self.folder.path().join("log"));
        let mut restart = as_user(programs().unwrap().join("pg_ctl").to_str().unwrap());
        restart.args(["--silent", "--wait", "--mode=immediate", "restart", "--pgdata"]).arg(data);
        run(restart.arg("--log").arg(log));
    }

    /// Gives the server the certificate and its key in these files.
    pub(crate) fn take_certificate(&self, certificate: &Path, key: &Path) {
        for (from, name) in [(certificate, "server.pem"), (key, "server.key")] {
            let file = self.folder.path().join(name);
            std::fs::copy(from, &file).unwrap();
            run(Command::new("chmod").arg("600").arg(&file));
            if rustix::process::geteuid().is_root() {
                run(Command::new("chown").arg("postgres").arg(&file));
            }
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// Carries out statements of SQL.
pub(crate) fn execute(postgres: &Postgres, statements: &str) {
    let done = async { postgres.client().await.unwrap().batch_execute(statements).await };
    RUNTIME.block_on(done).unwrap_or_else(|error| panic!("{statements}: {error:?}"));
}

/// Runs a command that has to succeed.
pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn send(process: &str, signal: Signal) {
    // A process of one connection may have ended meanwhile.
    let _ = kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), signal);
}

/// Returns a command of the user to whom the servers belong: PostgreSQL refuses to be run by root.
fn as_user(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", program]);
    command
}

/// Returns the folder with the programs of the newest PostgreSQL that is installed; `None` where none is.
pub(crate) fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut all: Vec<_> = std::env::split_paths(&on_path).chain(folders).collect();
    all.retain(|folder| folder.join("initdb").exists());
    all.pop()
}
