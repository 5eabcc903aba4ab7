//! Clients that sign in: ours and those of the official SDKs, at authorization servers that others wrote, in front of a
//! server that another implementation guards, and in front of our kernel. The kernel signs in, too. A scripted person
//! consents to everything.

mod kernel;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;
use kernel::{Accepted, Kernel};

use super::{
    Report,
    leg::{self, Checks},
    peers::{PY1, PY2, TS1, TS2},
};
use crate::{
    node::Node,
    process::{self, Background},
    python,
    workspace::Workspace,
};

pub(super) const NAME: &str = "oauth";

/// An authorization server.
#[derive(Clone, Copy)]
enum Issuer {
    OidcProvider,
    Authlib,
}

/// What demands tokens.
#[derive(Clone, Copy)]
enum Guard {
    Authlib,
    Kernel(Accepted),
}

/// A client that signs in.
#[derive(Clone, Copy)]
enum Client {
    Ours,
    /// Ours, with tokens that are bound to a key.
    OursBound,
    /// Our kernel, as the client of the server behind it.
    Kernel,
    /// The TypeScript SDK, by its major version.
    TypeScript(&'static str),
    /// The Python SDK, by its major version and its release.
    Python(&'static str, &'static str),
}

const ISSUERS: [Issuer; 2] = [Issuer::OidcProvider, Issuer::Authlib];
const GUARDS: [Guard; 3] = [Guard::Authlib, Guard::Kernel(Accepted::All), Guard::Kernel(Accepted::Bound)];
const CLIENTS: [Client; 5] = [
    Client::Ours,
    Client::TypeScript("1"),
    Client::TypeScript("2"),
    Client::Python("1", PY1),
    Client::Python("2", PY2),
];

const NPM: &[&str] = &["oidc-provider@9.13.3", TS1, TS2];
const PYTHON: &[&str] = &["authlib==1.9.9", "flask==3.1.3"];

/// Has each client sign in at each authorization server in front of each guard, and adds a row for each of these to the
/// report. `ours` is a program in the place of our example `interop`.
pub(super) fn run(
    workspace: &Workspace,
    folder: &Path,
    ours: Option<&Path>,
    report: &mut Report,
) -> Result<()> {
    let programs = Programs::install(workspace, folder, ours)?;
    for issuer in ISSUERS {
        let port = process::free_port()?;
        let log = programs.folder.join(format!("{}-issuer.log", issuer.name()));
        let serving = Background::start(&mut programs.issuer(issuer, port), port, &log)?;
        for guard in GUARDS {
            programs.legs(issuer, &format!("http://127.0.0.1:{port}"), guard, report)?;
        }
        serving.end()?;
    }
    Ok(())
}

/// The resource for which tokens of a guard at this port are.
fn resource(port: u16) -> String {
    format!("http://127.0.0.1:{port}/mcp")
}

impl Issuer {
    fn name(self) -> &'static str {
        match self {
            Self::OidcProvider => "oidc",
            Self::Authlib => "authlib",
        }
    }
}

impl Guard {
    fn name(self) -> &'static str {
        match self {
            Self::Authlib => "authlib",
            Self::Kernel(_) => "kernel",
        }
    }

    /// The clients that can get past it with the tokens of this issuer.
    fn clients(self, issuer: Issuer) -> Vec<Client> {
        match (self, issuer) {
            (Self::Authlib, _) => [&CLIENTS[..], &[Client::Kernel]].concat(),
            (Self::Kernel(Accepted::All), _) => CLIENTS.into(),
            // The clients of others bind no tokens, and nor does authlib.
            (Self::Kernel(Accepted::Bound), Issuer::OidcProvider) => vec![Client::OursBound],
            (Self::Kernel(Accepted::Bound), Issuer::Authlib) => Vec::new(),
        }
    }
}

impl Client {
    fn name(self) -> String {
        match self {
            Self::Ours => "our client".into(),
            Self::OursBound => "ours, bound".into(),
            Self::Kernel => "our kernel".into(),
            Self::TypeScript(version) => format!("ts{version} client"),
            Self::Python(version, _) => format!("py{version} client"),
        }
    }
}

/// The programs of both sides.
struct Programs {
    folder: PathBuf,
    ours: PathBuf,
    node: Node,
    python: PathBuf,
    kernel: Kernel,
}

impl Programs {
    fn install(workspace: &Workspace, folder: &Path, ours: Option<&Path>) -> Result<Self> {
        let ours = fs::canonicalize(workspace.example_or(ours, "mgp-client-sdk", "interop")?)?;
        let folder = folder.join(NAME);
        fs::create_dir_all(&folder)?;
        let node = Node::install(&folder, NPM)?;
        let python = python::environment(&folder.join("python"), PYTHON)?;
        let scripts = workspace.root.join("xtask/interop");
        for script in SCRIPTS {
            fs::copy(scripts.join(script), folder.join(script))?;
        }
        let kernel = Kernel::build(workspace, &folder)?;
        Ok(Self { folder, ours, node, python, kernel })
    }

    /// Starts a guard that accepts the tokens of this issuer, and has its clients sign in.
    fn legs(&self, issuer: Issuer, issuer_url: &str, guard: Guard, report: &mut Report) -> Result<()> {
        let clients = guard.clients(issuer);
        if clients.is_empty() {
            return Ok(());
        }
        let log = |what: &str| self.folder.join(format!("{}-{}-{what}.log", issuer.name(), guard.name()));
        let port = process::free_port()?;
        let guarding = match guard {
            Guard::Authlib => {
                let mut command = self.authlib("resource", port);
                Background::start(command.arg(issuer_url), port, &log("guard"))?
            }
            Guard::Kernel(accepted) => self.kernel.guard(port, issuer_url, accepted, &log("guard"))?,
        };
        for client in clients {
            let log = log(&client.name());
            let checks = self.checks(client, &resource(port), &log);
            let name = format!("{NAME} {}", guard.name());
            report.row(&name, &client.name(), "http", issuer.name(), checks, Some(&log));
        }
        guarding.end()
    }

    fn issuer(&self, issuer: Issuer, port: u16) -> Command {
        match issuer {
            Issuer::OidcProvider => {
                let mut command = self.node.script(&self.folder.join("oauth_oidc.mjs"));
                command.arg(port.to_string());
                command
            }
            Issuer::Authlib => self.authlib("issuer", port),
        }
    }

    /// The command that starts the authorization server, or the guarded server, of authlib.
    fn authlib(&self, side: &str, port: u16) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(self.folder.join("oauth_authlib.py")).args([side, &port.to_string()]);
        command
    }

    /// The command that opens the page that is its last argument.
    fn browser(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(self.folder.join("oauth_browser.py"));
        command
    }

    fn checks(&self, client: Client, url: &str, log: &Path) -> Result<Checks> {
        let mut command = match client {
            Client::Kernel => return self.kernel.sign_in(url, self.browser(), log),
            Client::Ours | Client::OursBound => {
                let transport = if let Client::OursBound = client { "login-bound" } else { "login" };
                let browser = self.browser();
                let mut command = Command::new(&self.ours);
                command.args([transport, "auto", url]).arg(browser.get_program()).args(browser.get_args());
                command
            }
            Client::TypeScript(version) => {
                let mut command = self.node.script(&self.folder.join("oauth_ts.mjs"));
                command.args([version, url]);
                command
            }
            Client::Python(version, release) => {
                let environment = python::environment(&self.folder.join(format!("py{version}")), &[release])?;
                let mut command = Command::new(environment);
                command.arg(self.folder.join("oauth_py.py")).args([version, url]);
                command
            }
        };
        leg::run(&mut command, log)
    }
}

const SCRIPTS: [&str; 7] = [
    "checks.mjs", "checks.py", "oauth_authlib.py", "oauth_browser.py", "oauth_oidc.mjs", "oauth_py.py",
    "oauth_ts.mjs",
];
