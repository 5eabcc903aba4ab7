//! The kernel's description of itself to clients: capabilities and instructions.

use mgp_types::ext::ExtensionId;
use mgp_types::mcp::meta::key;
use mgp_types::mcp::task_extension;
use mgp_types::mcp::{
    ForRevision, ListCapability, Map, Marker, ResourcesCapability, ServerCapabilities, ServerTaskRequests,
    ServerTasksCapability, ToolTaskRequests,
};
use mgp_types::mgp::{self, NameStyle, written};
use mgp_types::{CacheHint, CacheScope, Context, Error, Object, RawJson, Request, Response, Session};

use crate::data::transports;
use crate::sections::Sections;
use crate::settings::offered;
use crate::settings::running::RunningConfig;
use crate::visibility::CallerView;

/// Returns the answer to `server/discover`, which is that to `initialize` too.
pub(super) fn describe(kernel: &Sections, request: &Request) -> Result<Response, Error> {
    let Sections { visibility, config, changes, .. } = kernel;
    let view = CallerView::of(visibility, &request.context)?;
    changes.open(&request.context);
    let capabilities = written(&capabilities(&view, config, request.context.session()?))?;
    let instructions = written(&instructions(&view, config.names(&request.context), &request.context))?;
    let described = Object::from([("capabilities", capabilities), ("instructions", instructions)]);
    let mut response = Response::plain(described.to_raw());
    response.context.cache = Some(CacheHint { ttl_ms: FRESH_MS, scope: CacheScope::Private });
    Ok(response)
}

/// Returns the capabilities of the kernel, and those of its servers beyond MCP.
///
/// All of MCP is offered, whatever servers have at the moment: they connect later and come back different, and a
/// session cannot be given a capability that it was not told of when it began. A list without items is empty.
fn capabilities(view: &CallerView<'_>, config: &RunningConfig, session: &Session) -> ServerCapabilities {
    let list = || ListCapability::new().with_list_changed(true);
    let mut capabilities = ServerCapabilities::new();
    capabilities.tools = Some(list());
    capabilities.prompts = Some(list());
    capabilities.resources = Some(ResourcesCapability::new().with_subscribe(true).with_list_changed(true));
    capabilities.completions = Some(Marker::new());
    capabilities.logging = Some(Marker::new());
    // The capability of tasks in the form of 2025-11-25.
    let of_tools = ServerTaskRequests::new().with_tools(ToolTaskRequests::new().with_call(Marker::new()));
    let tasks = ServerTasksCapability::new().with_list(Marker::new()).with_cancel(Marker::new());
    capabilities.tasks = Some(tasks.with_requests(of_tools));
    let mut extensions = Map::new();
    let mut experimental = Map::new();
    for upstream in view.servers() {
        let theirs = upstream.capabilities(&view.principal);
        for (member, to) in [("extensions", &mut extensions), ("experimental", &mut experimental)] {
            for (name, value) in theirs.object(member).unwrap_or_default().iter() {
                add(to, &name, &value);
            }
        }
        for (name, value) in theirs.iter() {
            if !KNOWN.contains(&&*name) {
                add(&mut capabilities.extra, &name, &value);
            }
        }
    }
    // Those of the kernel's own are silent for whoever did not declare them.
    let config = config.load();
    for id in session.extensions().and(offered(&config)).iter() {
        let settings = match id {
            ExtensionId::ToolRegistry if config.listen.auth_member => r#"{"auth_member":true}"#,
            ExtensionId::Idempotency => r#"{"default_ttl_seconds":86400,"max_ttl_seconds":604800}"#,
            ExtensionId::Transactions => r#"{"max_timeout_seconds":3600}"#,
            _ => "{}",
        };
        extensions.insert(id.id(), RawJson::from_written(settings.into()));
    }
    if !config.effects.enabled {
        // Servers have them, and the kernel passes none.
        extensions.remove(ExtensionId::Transactions.id());
    }
    // Whatever transport its servers have, a client hands their data on through the kernel.
    if config.listen.data_references {
        extensions.remove(ExtensionId::DataReferences.id());
        if session.extensions().has(ExtensionId::DataReferences) {
            extensions.insert(ExtensionId::DataReferences.id(), transports().to_raw());
        }
    }
    // Each era has one of the two forms of tasks.
    extensions.remove(task_extension::EXTENSION_ID);
    if session.revision.is_stateless() {
        extensions.insert(task_extension::EXTENSION_ID, RawJson::empty_object());
    }
    capabilities.extensions = Some(extensions).filter(|extensions| !extensions.is_empty());
    capabilities.experimental = Some(experimental).filter(|experimental| !experimental.is_empty());
    capabilities.for_revision(session.revision)
}

/// Adds a capability of a server, unless an earlier server has it or it is one of the kernel's own: which MGP the
/// kernel speaks does not depend on its servers.
fn add(to: &mut Map<RawJson>, name: &str, value: &RawJson) {
    let is_ours = name == mgp::EXTENSION_ID || name == mgp::LEGACY_MEMBER || name == key::SERVER_INFO;
    if !is_ours && to.get(name).is_none() && to.len() < MAX_MEMBERS {
        to.insert(name, value.detached());
    }
}

/// Returns the instructions for the use of the kernel, followed by those of its servers in the order of their ids.
fn instructions(view: &CallerView<'_>, names: NameStyle, context: &Context) -> String {
    let tool = names.write("SERVER", "TOOL");
    let discover = names.write_method(mgp::method::TOOLS_DISCOVER, context);
    let call = names.write_method(mgp::method::TOOLS_CALL, context);
    let mut all = format!(
        "This server stands for several others; a tool is called {tool}. If `{discover}` is among the tools, the list is \
         not all there is: describe to it what you want to do, and call what it finds by name or by `{call}`."
    );
    for upstream in view.servers() {
        let Some(theirs) = upstream.instructions(&view.principal) else { continue };
        // The instructions of a server are marked as its own, and cannot look as if they ended there.
        let readable = theirs.chars().filter(|letter| !letter.is_control() || *letter == '\n');
        let theirs: String = readable.take(LONGEST_OF_ONE).collect();
        let theirs = theirs.trim().replace("\n#", "\n #");
        if !theirs.is_empty() && all.len() + theirs.len() <= LONGEST {
            for part in ["\n\n# Server ", upstream.id().as_str(), "\n", &theirs] {
                all.push_str(part);
            }
        }
    }
    all
}

const LONGEST_OF_ONE: usize = 1_000;
const LONGEST: usize = 8_000;
const MAX_MEMBERS: usize = 64;
const FRESH_MS: u64 = 1_000;
const KNOWN: [&str; 8] =
    ["experimental", "logging", "completions", "prompts", "resources", "tools", "tasks", "extensions"];
