//! The creation of tools by the client's model, where no tool fits, and their scripts, which exist for as long as their servers
//! are registered.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_discovery::registry::{Lifetime, RegistrationTerms, Registry};
use mgp_security::code_safety::{CodePolicy, scan};
use mgp_toolindex::discovery::ToolCreator;
use mgp_types::mcp::CreateMessageResult;
use mgp_types::mgp::{
    Actor, ApprovalPolicy, AuditPort as _, CodeSafety, EventType, Outcome, Permission, RegisterServer,
    RequestTools, SafetyLevel, ServerId, TraceId,
};
use mgp_types::{BoxFuture, Context, Error, Method, Object, Principal, RawJson};
use serde_json::json;

use crate::record::AuditTrail;
use crate::settings::running::RunningConfig;

/// A creator of tools for what no tool can do (§16.6): the client's model is asked for the code, the code is held to
/// the strictest level, and code that passes is registered as a sandboxed server of the session.
///
/// The creator serves only agents that are permitted `code_execution`
/// while the policy is `auto_approve`; the rules of registration decide what they may register.
pub(crate) struct ModelToolCreator {
    pub(crate) config: Arc<RunningConfig>,
    pub(crate) audit: Arc<AuditTrail>,
    pub(crate) registry: Registry,
}

impl ModelToolCreator {
    /// Has the client's model write a tool, and registers its server.
    ///
    /// # Errors
    /// Fails with the reason why no tool is made.
    async fn create(&self, context: &Context, request: &RequestTools, needs: &[String]) -> Result<(), Error> {
        let agent = permitted(&self.config.load(), context)?;
        crate::check_confinement().map_err(|why| {
            Error::invalid_request(format!("no tool is made where none can be confined: {why}"))
        })?;
        let answer = context.ask("mgp-create", Method::CREATE_MESSAGE, instruction(request, needs)).await?;
        let code = code_of(&answer)?;
        let mut declaration = CodeSafety::new(SafetyLevel::Strict);
        declaration.language = Some("python".into());
        let script = format!("import json\n{code}\n{HARNESS}");
        if let Err(rejection) = scan(&script, &CodePolicy::new(&declaration)) {
            self.tell(&agent, EventType::CodeRejected, Outcome::Blocked, &rejection.reason).await?;
            return Err(Error::invalid_params(format!("the code is refused: {}", rejection.reason)));
        }
        let id = ServerId::from(format!("{MADE}{}", TraceId::random()).as_str());
        let path = write_script(self.config.state(), &id, script).await;
        let path = path.map_err(|error| Error::internal("the tool cannot be kept").with_source(error))?;
        let mut server =
            RegisterServer::new(id.clone(), "python3", vec!["-I".into(), path.display().to_string()]);
        server.created_by = Some(agent.id().into_owned());
        server.justification = Some(format!("made on demand: {}", needs.join(", ")));
        // The name of the session that the tool is made for.
        let session = format!("{}@{:?}", agent.as_str(), context.session.as_ref().map(Arc::as_ptr));
        let terms = RegistrationTerms {
            lifetime: Lifetime::Session(session.as_str().into()),
            approved_by: Some("auto_approve".into()),
        };
        let registered = self.registry.register(&agent, context.trace, server, terms).await;
        if let Err(error) = registered {
            remove_script(self.config.state(), &id).await;
            return Err(Error::invalid_params(error.to_string()));
        }
        self.end_with(context, session);
        let made = EventType::Custom("TOOL_CREATED_DYNAMIC".into());
        self.tell(&agent, made, Outcome::Success, id.as_str()).await
    }

    async fn tell(&self, agent: &Principal, what: EventType, end: Outcome, of: &str) -> Result<(), Error> {
        let event = self.audit.event(what, Actor::of(agent), end);
        self.audit.log.record(event.with_detail("created", of)).await
    }

    /// Removes the server with the session that it was made for. Where there are no sessions the server stays as long
    /// as the kernel.
    fn end_with(&self, context: &Context, name: String) {
        let Some(session) = context.session.as_ref().filter(|session| session.outbox.is_open()) else {
            return;
        };
        let (session, registry) = (Arc::downgrade(session), self.registry.clone());
        tokio::spawn(async move {
            while session.strong_count() > 0 {
                tokio::time::sleep(LOOK).await;
            }
            for (server, error) in registry.session_ended(&name).await {
                tracing::warn!(%server, %error, "a server outlives its session");
            }
        });
    }
}

impl ToolCreator for ModelToolCreator {
    fn begin<'a>(
        &'a self,
        context: &'a Context,
        request: &'a RequestTools,
        capabilities: &'a [String],
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let created = self.create(context, request, capabilities).await;
            created.inspect_err(|error| tracing::info!(%error, "no tool is made")).is_ok()
        })
    }
}

/// Returns the agent, if it may have tools made.
fn permitted(config: &Config, context: &Context) -> Result<Principal, Error> {
    let agent = context.principal.clone().ok_or_else(|| Error::invalid_request("nobody asks"))?;
    let of_agent = agent.agent_name().and_then(|name| config.agent(name));
    let may = of_agent.is_some_and(|known| known.permissions.contains(&Permission::CodeExecution));
    if config.permissions.policy != Some(ApprovalPolicy::AutoApprove) || !may {
        return Err(Error::invalid_request(
            "tools are made only for agents with `code_execution`, under the policy `auto_approve`",
        ));
    }
    Ok(agent)
}

/// Returns the params that ask the client's model for the code.
fn instruction(request: &RequestTools, wanted: &[String]) -> Object {
    let text =
        format!("{INSTRUCTION}\nIt has to be able to: {}\nIt is for: {}", wanted.join("; "), request.context);
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    let params = json!({ "maxTokens": 4096, "temperature": 0, "messages": [message] });
    Object::from_value(&params).unwrap_or_default()
}

/// Returns the code in an answer: the text between fences, or all of it.
fn code_of(answer: &RawJson) -> Result<String, Error> {
    let answer: CreateMessageResult =
        answer.to().map_err(|error| Error::misbehaved("the client's answer is none").with_source(error))?;
    let text: String = answer.content.as_slice().iter().filter_map(|block| block.as_text()).collect();
    let code = match text.split_once("```") {
        Some((_, fenced)) => {
            let fenced = fenced.split_once("```").map_or(fenced, |(code, _)| code);
            fenced.strip_prefix("python").unwrap_or(fenced).to_owned()
        }
        None => text,
    };
    let says = |name: &str| code.lines().any(|line| line.starts_with(name));
    let missing = ["NAME", "DESCRIPTION", "INPUT_SCHEMA", "def run("].into_iter().find(|name| !says(name));
    missing.map_or(Ok(code), |name| Err(Error::invalid_params(format!("the code has no `{name}`"))))
}

/// Writes the script of a server that is made.
async fn write_script(state: &Path, server: &ServerId, script: String) -> io::Result<PathBuf> {
    let folder = folder(state);
    tokio::fs::create_dir_all(&folder).await?;
    let path = folder.join(format!("{server}.{SUFFIX}"));
    tokio::fs::write(&path, script).await?;
    Ok(path)
}

/// Removes the script of a server that is no longer registered; other servers have none here.
pub(super) async fn remove_script(state: &Path, server: &ServerId) {
    let is_name = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if server.as_str().strip_prefix(MADE).is_some_and(is_name) {
        unlink(&folder(state).join(format!("{server}.{SUFFIX}"))).await;
    }
}

/// Removes the scripts that belong to no server: those of sessions that ended with the last kernel.
pub(crate) async fn remove_left_over(state: &Path, registry: &Registry) {
    let Ok(mut scripts) = tokio::fs::read_dir(folder(state)).await else { return };
    let registered = registry.registered();
    let wanted: HashSet<&str> = registered.iter().map(|server| server.id.as_str()).collect();
    while let Ok(Some(script)) = scripts.next_entry().await {
        let path = script.path();
        let is_script = path.extension().is_some_and(|suffix| suffix == SUFFIX);
        let server = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_script);
        if server.is_some_and(|server| server.starts_with(MADE) && !wanted.contains(server)) {
            unlink(&path).await;
        }
    }
}

async fn unlink(path: &Path) {
    match tokio::fs::remove_file(path).await {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "the script of a tool that is no more stays");
        }
        _ => {}
    }
}

fn folder(state: &Path) -> PathBuf {
    state.join("created")
}

const INSTRUCTION: &str = include_str!("instruction.txt");

const HARNESS: &str = include_str!("harness.py");

const LOOK: std::time::Duration = std::time::Duration::from_secs(2);

const MADE: &str = "created-";
const SUFFIX: &str = "py";
