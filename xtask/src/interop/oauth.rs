//! Clients that sign in: ours and those of the official SDKs, at authorization servers that others wrote, in front of a
//! server that another implementation guards. A scripted person consents to everything.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{
    Report,
    leg::{self, Checks},
    peers::{PY1, PY2, TS1, TS2},
};
use crate::{
    node::Node,
    process::{self, Background},
    python,
    workspace::{Features, Profile, Workspace},
};

pub(super) const NAME: &str = "oauth";

/// An authorization server.
#[derive(Clone, Copy)]
enum Issuer {
    OidcProvider,
    Authlib,
}

/// A client that signs in.
#[derive(Clone, Copy)]
enum Client {
    Ours,
    /// The TypeScript SDK, by its major version.
    TypeScript(&'static str),
    /// The Python SDK, by its major version and its release.
    Python(&'static str, &'static str),
}

const ISSUERS: [Issuer; 2] = [Issuer::OidcProvider, Issuer::Authlib];
const CLIENTS: [Client; 5] = [
    Client::Ours,
    Client::TypeScript("1"),
    Client::TypeScript("2"),
    Client::Python("1", PY1),
    Client::Python("2", PY2),
];

const NPM: &[&str] = &["oidc-provider@9.13.3", TS1, TS2];
const PYTHON: &[&str] = &["authlib==1.9.9", "flask==3.1.3"];

/// Has each client sign in at each authorization server, and adds a row for each pair to the report. `ours` is a program in
/// the place of our example `interop`.
pub(super) fn run(
    workspace: &Workspace,
    folder: &Path,
    ours: Option<&Path>,
    report: &mut Report,
) -> Result<()> {
    let programs = Programs::install(workspace, folder, ours)?;
    for issuer in ISSUERS {
        let (port, guarded) = (process::free_port()?, process::free_port()?);
        let log = |what: &str| programs.folder.join(format!("{}-{what}.log", issuer.name()));
        let _issuer = Background::start(&mut programs.issuer(issuer, port), port, &log("issuer"))?;
        let mut server = programs.authlib("resource", guarded);
        server.arg(format!("http://127.0.0.1:{port}"));
        let _server = Background::start(&mut server, guarded, &log("server"))?;
        for client in CLIENTS {
            let log = log(&client.name());
            let checks = programs.client(client, &format!("http://127.0.0.1:{guarded}/mcp"));
            let checks = checks.and_then(|mut command| leg::run(&mut command, &log));
            let checks = checks.unwrap_or_else(|error| Checks::broken(&format!("{error:#}")));
            report.row(NAME, &client.name(), "http", issuer.name(), &checks);
            for fault in &checks.failed {
                println!("    {fault}; see {}", log.display());
            }
        }
    }
    Ok(())
}

impl Issuer {
    fn name(self) -> &'static str {
        match self {
            Self::OidcProvider => "oidc",
            Self::Authlib => "authlib",
        }
    }
}

impl Client {
    fn name(self) -> String {
        match self {
            Self::Ours => "our client".into(),
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
}

impl Programs {
    fn install(workspace: &Workspace, folder: &Path, ours: Option<&Path>) -> Result<Self> {
        let ours = match ours {
            Some(program) => fs::canonicalize(program)?,
            None => {
                workspace.build_example("mgp-client-sdk", "interop", Features::Default, Profile::Release)?
            }
        };
        let folder = folder.join(NAME);
        fs::create_dir_all(&folder)?;
        let node = Node::install(&folder, NPM)?;
        let python = python::environment(&folder.join("python"), PYTHON)?;
        let scripts = workspace.root.join("xtask/interop");
        for script in SCRIPTS {
            fs::copy(scripts.join(script), folder.join(script))?;
        }
        Ok(Self { folder, ours, node, python })
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

    fn client(&self, client: Client, url: &str) -> Result<Command> {
        Ok(match client {
            Client::Ours => {
                let mut command = Command::new(&self.ours);
                command.args(["login", "auto", url]).arg(&self.python);
                command.arg(self.folder.join("oauth_browser.py"));
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
        })
    }
}

const SCRIPTS: [&str; 7] = [
    "checks.mjs", "checks.py", "oauth_authlib.py", "oauth_browser.py", "oauth_oidc.mjs", "oauth_py.py",
    "oauth_ts.mjs",
];
