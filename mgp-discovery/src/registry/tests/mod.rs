//! Tests of the registry, and the fixtures they share: a fleet, an inspector and an audit record.

mod denied;
mod life;
mod methods;
mod stored;

use std::sync::Arc;

use async_trait::async_trait;
use mgp_types::mgp::{
    AuditEvent, AuditPort, CodeRejection, ListedServer, Permission, RegisterMgp, RegisterServer, ServerId,
    ServerStatus, TrustLevel, Version,
};
use mgp_types::{BoxFuture, Context, Error, Principal};
use parking_lot::Mutex;

use super::*;
use crate::config::model::RegistrationSettings;

#[derive(Debug, Default)]
struct Ships {
    /// The starts and stops, as `+id` and `-id`.
    log: Mutex<Vec<String>>,
    broken: Mutex<Option<Error>>,
    /// The reason why nothing can be confined here.
    unconfined: Mutex<Option<String>>,
}

impl Ships {
    fn log(&self) -> Vec<String> {
        self.log.lock().clone()
    }

    fn break_down(&self) {
        *self.broken.lock() = Some(Error::internal("the dock is closed"));
    }

    fn note(&self, what: String) -> BoxFuture<'_, Result<(), Error>> {
        let outcome = self.broken.lock().clone().map_or(Ok(()), Err);
        if outcome.is_ok() {
            self.log.lock().push(what);
        }
        Box::pin(async { outcome })
    }
}

#[async_trait]
impl RunningServers for Ships {
    fn servers(&self, context: &Context) -> Vec<ServerView> {
        let mut first =
            ListedServer::new("mind.cerebras".into(), ServerStatus::Connected, TrustLevel::Standard);
        first.mgp_version = Some(Version::new(0, 1, 0));
        first.extensions = ["security", "lifecycle", "streaming"].map(str::to_owned).to_vec();
        first.tools = ["think", "analyze"].map(str::to_owned).to_vec();
        let plain = ListedServer::new("files".into(), ServerStatus::Error, TrustLevel::Sandboxed);
        if context.principal.as_ref().is_some_and(|by| by.as_str() == "blind") {
            return Vec::new();
        }
        vec![
            ServerView { listed: first, permissions: vec![Permission::NetworkOutbound] },
            ServerView { listed: plain, permissions: Vec::new() },
        ]
    }

    async fn start(&self, server: Arc<ServerRegistration>) -> Result<(), Error> {
        // Starting takes a while, in which other requests may come.
        tokio::task::yield_now().await;
        self.note(format!("+{}", server.id)).await
    }

    async fn stop(&self, server: &ServerId) -> Result<(), Error> {
        self.note(format!("-{server}")).await
    }

    fn confines(&self) -> Result<(), String> {
        self.unconfined.lock().clone().map_or(Ok(()), Err)
    }
}

/// An inspector that refuses scripts with `evil` in their path, cannot read those with `odd` in it, and counts the
/// changes of scripts.
#[derive(Debug, Default)]
struct Eye(Mutex<u32>);

#[async_trait]
impl CodeInspector for Eye {
    async fn inspect(&self, script: ProgramScript<'_>) -> Inspection {
        let path = script.path.display().to_string();
        if path.contains("evil") {
            let violation = "Blocked import: 'socket'".into();
            Inspection::Rejected(Box::new(CodeRejection::new(vec![violation])))
        } else if path.contains("odd") {
            Inspection::Unreadable(format!("no one reads {}", script.language))
        } else {
            let digest = format!("{} {}", script.language, self.0.lock());
            let file = (CodeFile { path: "a.py".into(), digest: digest.clone() }, Arc::from(&b"1"[..]));
            Inspection::Harmless(Box::new(InspectedCode { digest, script: "a.py".into(), files: vec![file] }))
        }
    }

    fn judge_line(&self, command: &str, _: &[String]) -> Result<(), String> {
        if command.contains("starter") { Err("it starts another program".into()) } else { Ok(()) }
    }
}

#[derive(Debug, Default)]
struct Trail {
    events: Mutex<Vec<AuditEvent>>,
    is_full: Mutex<bool>,
}

impl Trail {
    /// Returns the recorded events, as `type outcome`.
    fn lines(&self) -> Vec<String> {
        let line = |event: &AuditEvent| {
            let kind = event.event_type.as_str();
            let kind = kind.strip_prefix("dev.cloto.mgp.").unwrap_or(kind);
            format!("{kind} {}", event.result.as_str())
        };
        self.events.lock().iter().map(line).collect()
    }
}

impl AuditPort for Trail {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        let outcome = if *self.is_full.lock() { Err(Error::internal("the log is full")) } else { Ok(()) };
        if outcome.is_ok() {
            self.events.lock().push(event);
        }
        Box::pin(async { outcome })
    }
}

struct World {
    registry: Registry,
    ships: Arc<Ships>,
    eye: Arc<Eye>,
    trail: Arc<Trail>,
}

fn world() -> World {
    world_with(Arc::new(SqliteRegistryStore::in_memory().unwrap()))
}

fn world_with(store: Arc<SqliteRegistryStore>) -> World {
    let (ships, eye, trail) =
        (Arc::new(Ships::default()), Arc::new(Eye::default()), Arc::new(Trail::default()));
    let registry = Registry::open(store, policy(), ships.clone(), eye.clone(), trail.clone()).unwrap();
    World { registry, ships, eye, trail }
}

fn settings() -> RegistrationSettings {
    let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    RegistrationSettings {
        agents: listed(&["maker"]),
        commands: listed(&["python", "sh", "/opt/tools/server", "https://tools.example/mcp"]),
        env: listed(&["API_KEY"]),
    }
}

fn policy() -> RegistrationPolicy {
    RegistrationPolicy::new(&settings(), ["files".into(), "mind.cerebras".into()])
}

fn maker() -> Principal {
    Principal::new("maker")
}

fn admin() -> Principal {
    Principal::operator("admin")
}

fn script(id: &str, path: &str) -> RegisterServer {
    RegisterServer::new(id.into(), "python", vec![path.into()])
}

fn standard(id: &str) -> RegisterServer {
    script(id, "a.py").with_mgp(RegisterMgp::new(TrustLevel::Standard, vec![Permission::ShellExecute]))
}

impl World {
    async fn register(
        &self,
        by: &Principal,
        wanted: RegisterServer,
    ) -> Result<mgp_types::mgp::RegisteredServer, RegistryError> {
        self.registry.register(by, None, wanted, RegistrationTerms::default()).await
    }

    /// Returns the id under which the server waits.
    #[track_caller]
    fn waiting(&self, id: &str) -> RegistrationId {
        let all = self.registry.registered();
        let server = all.iter().find(|server| server.id.as_str() == id && !server.is_approved());
        server.expect("it waits").approval_id.clone()
    }

    /// Returns the code of the error that a registration ends in.
    #[track_caller]
    fn refused(&self, by: &Principal, wanted: RegisterServer) -> i64 {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = runtime.block_on(self.register(by, wanted));
        Error::from(outcome.expect_err("it is refused")).code()
    }
}

fn line(command: &str, args: &[&str]) -> String {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    LaunchMethod::Program { command: command.into(), args, env: Vec::new() }.line()
}

#[test]
fn the_whole_line_is_shown_and_its_words_are_told_apart() {
    assert_eq!(line("python3", &["-u", "/srv/a.py"]), "python3 -u /srv/a.py");
    assert_eq!(line("awk", &["BEGIN{system(\"id\")}"]), "awk 'BEGIN{system(\"id\")}'");
    assert_eq!(line("sh", &["-c", "echo 'a' b", ""]), r"sh -c 'echo '\''a'\'' b' ''");
    let long = "x".repeat(5000);
    assert!(line("a", &[&long]).ends_with(&long));
}

#[test]
fn what_hides_is_spelled_out() {
    assert_eq!(line("a", &["b\u{202e}c\u{1b}[2K\n"]), r"a 'b\u{202e}c\u{1b}[2K\u{a}'");
    assert_eq!(line("a", &["Grüße"]), "a 'Grüße'");
    assert_eq!(visible("a\u{a0}b\u{3164}"), "a\\u{a0}b\u{3164}");
}
