//! The peers: what they can do, how to install them, how to start them.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::leg::{self, Checks, Target};
use crate::{node::Node, python};

/// An independent implementation of MCP.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    kind: Kind,
    /// How its client can reach our server.
    pub(crate) client: &'static [Route],
    /// How our client can reach its server.
    pub(crate) server: &'static [Route],
}

#[derive(Clone, Copy)]
enum Kind {
    /// Scripts `NAME_client.mjs` and `NAME_server.mjs` beside npm packages.
    Node,
    /// Scripts `NAME_client.py` and `NAME_server.py` in an environment with this package.
    Python(&'static str),
    /// The command line of the official inspector.
    Inspector,
    /// The reference server that shows all of MCP.
    Everything,
    /// The reference server that gives access to a folder.
    Filesystem,
}

/// A transport, and the eras to try over it.
pub(crate) struct Route {
    pub(crate) transport: Transport,
    pub(crate) eras: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Transport {
    Stdio,
    Http,
    Sse,
}

impl Transport {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Which side is theirs; the other one is ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Direction {
    TheirClient,
    TheirServer,
}

impl Direction {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::TheirClient => "client",
            Self::TheirServer => "server",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::TheirClient => "their client",
            Self::TheirServer => "their server",
        }
    }
}

const fn route(transport: Transport, eras: &'static [&'static str]) -> Route {
    Route { transport, eras }
}

/// The modes of a client that knows only the older era.
const LEGACY: &[&str] = &["legacy"];
/// The modes in which we ask a server that knows only the older era.
const FALLBACK: &[&str] = &["legacy", "auto"];
const BOTH: &[&str] = &["legacy", "auto", "modern"];

use Transport::{Http, Sse, Stdio};

pub(crate) const PEERS: [Peer; 7] = [
    Peer {
        name: "ts1",
        kind: Kind::Node,
        client: &[route(Stdio, LEGACY), route(Http, LEGACY), route(Sse, LEGACY)],
        server: &[route(Stdio, FALLBACK), route(Http, FALLBACK), route(Sse, LEGACY)],
    },
    Peer {
        name: "ts2",
        kind: Kind::Node,
        client: &[route(Stdio, BOTH), route(Http, BOTH), route(Sse, LEGACY)],
        server: &[route(Stdio, BOTH), route(Http, BOTH)],
    },
    Peer {
        name: "py1",
        kind: Kind::Python(PY1),
        client: &[route(Stdio, LEGACY), route(Http, LEGACY), route(Sse, LEGACY)],
        server: &[route(Stdio, FALLBACK), route(Http, FALLBACK), route(Sse, LEGACY)],
    },
    Peer {
        name: "py2",
        kind: Kind::Python(PY2),
        client: &[route(Stdio, BOTH), route(Http, BOTH), route(Sse, LEGACY)],
        server: &[route(Stdio, BOTH), route(Http, BOTH), route(Sse, LEGACY)],
    },
    Peer {
        name: "inspector",
        kind: Kind::Inspector,
        client: &[route(Stdio, BOTH), route(Http, BOTH), route(Sse, LEGACY)],
        server: &[],
    },
    Peer {
        name: "everything",
        kind: Kind::Everything,
        client: &[],
        server: &[route(Stdio, FALLBACK), route(Http, FALLBACK), route(Sse, LEGACY)],
    },
    Peer { name: "filesystem", kind: Kind::Filesystem, client: &[], server: &[route(Stdio, FALLBACK)] },
];

/// The releases of the official SDKs.
pub(super) const TS1: &str = "@modelcontextprotocol/sdk@1.32.2";
pub(super) const TS2: &str = "@modelcontextprotocol/client@2.4.0";
pub(super) const PY1: &str = "mcp==1.30.0";
pub(super) const PY2: &str = "mcp==2.3.0";

const PACKAGES: [&str; 9] = [
    TS1,
    TS2,
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "express@5.3.0",
    "zod@4.6.7",
];

impl Peer {
    /// Checks that cannot pass, because the peer does not do what they ask for.
    pub(crate) fn lacks(
        &self,
        direction: Direction,
        transport: Transport,
        era: &str,
    ) -> &'static [&'static str] {
        match (self.name, direction, transport, era) {
            // Its HTTP server keeps no sessions for the older era, and so has no way to ask the client.
            ("ts2", Direction::TheirServer, Http, "legacy") => &["elicitation"],
            _ => &[],
        }
    }

    /// Lets their client check our server.
    pub(crate) fn client_checks(
        &self,
        tools: &Tools,
        transport: Transport,
        era: &str,
        target: &Target,
        log: &Path,
    ) -> Result<Checks> {
        if let Kind::Inspector = self.kind {
            return inspect(tools, transport, era, target, log);
        }
        let mut command = tools.script(self, "client");
        command.args([transport.word(), era]).args(target.arguments());
        leg::run(&mut command, log)
    }

    /// The command that starts their server.
    pub(crate) fn server_command(&self, tools: &Tools, transport: Transport, port: u16) -> Command {
        match self.kind {
            Kind::Everything => {
                let mut command = tools.module("server-everything");
                command.env("PORT", port.to_string()).arg(match transport {
                    Stdio => "stdio",
                    Http => "streamableHttp",
                    Sse => "sse",
                });
                command
            }
            Kind::Filesystem => {
                let mut command = tools.module("server-filesystem");
                command.arg(&tools.folder);
                command
            }
            Kind::Node | Kind::Python(_) | Kind::Inspector => {
                let mut command = tools.script(self, "server");
                command.arg(transport.word());
                if transport != Stdio {
                    command.arg(port.to_string());
                }
                command
            }
        }
    }
}

/// The inspector makes one request a run; its answer must hold a text that only our server gives.
fn inspect(tools: &Tools, transport: Transport, era: &str, target: &Target, log: &Path) -> Result<Checks> {
    let sample = target.sample();
    let requests: [(&str, &[&str], &str); 4] = [
        ("tools/list", &[], sample.lists),
        ("tools/call", sample.call, sample.answer),
        (
            "resources/read",
            &["--uri", "test://static-text"],
            "This is the content of the static text resource.",
        ),
        ("prompts/get", &["--prompt-name", "test_simple_prompt"], "This is a simple prompt for testing."),
    ];
    let mut checks = Checks::default();
    for (method, arguments, wanted) in requests {
        let mut command = tools.node().script(&tools.inspector());
        command.env("MCP_CATALOG_PATH", tools.folder.join("inspector.json"));
        command.args(["--cli", "--protocol-era", era, "--transport", transport.word(), "--method", method]);
        command.args(arguments).arg("--").args(target.arguments());
        let (_, output) = leg::finish(&mut command, log)?;
        let answered = output.contains(wanted);
        checks.add(method, if answered { Ok(()) } else { Err(format!("the answer lacks {wanted:?}")) });
    }
    Ok(checks)
}

/// The installed programs of the peers.
pub(crate) struct Tools {
    folder: PathBuf,
    node: Option<Node>,
    python: BTreeMap<&'static str, PathBuf>,
}

impl Tools {
    /// Installs what these peers need and copies the scripts to where their imports are found.
    pub(crate) fn install(folder: &Path, scripts: &Path, peers: &[&Peer]) -> Result<Self> {
        fs::create_dir_all(folder)?;
        for script in fs::read_dir(scripts)? {
            let script = script?;
            fs::copy(script.path(), folder.join(script.file_name()))?;
        }
        let mut python = BTreeMap::new();
        for peer in peers {
            if let Kind::Python(package) = peer.kind {
                python.insert(peer.name, python::environment(&folder.join(peer.name), &[package])?);
            }
        }
        let needs_node = peers.iter().any(|p| !matches!(p.kind, Kind::Python(_)));
        let node = if needs_node { Some(Node::install(folder, &PACKAGES)?) } else { None };
        Ok(Self { folder: folder.to_owned(), node, python })
    }

    fn node(&self) -> &Node {
        self.node.as_ref().expect("it is installed when a peer needs it")
    }

    fn script(&self, peer: &Peer, side: &str) -> Command {
        match peer.kind {
            Kind::Python(_) => {
                let mut command = Command::new(&self.python[peer.name]);
                command.arg(self.folder.join(format!("{}_{side}.py", peer.name)));
                command
            }
            _ => self.node().script(&self.folder.join(format!("{}_{side}.mjs", peer.name))),
        }
    }

    /// The command that runs a reference server.
    pub(crate) fn module(&self, package: &str) -> Command {
        let module = self.node().module("@modelcontextprotocol").join(package);
        self.node().script(&module.join("dist/index.js"))
    }

    fn inspector(&self) -> PathBuf {
        self.node().module("@modelcontextprotocol/inspector").join("clients/launcher/build/index.js")
    }
}
