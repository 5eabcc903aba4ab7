//! Where the tools of a command come from: a file, standard input, or a configured server.

use std::ffi::OsStr;
use std::path::Path;

use mgp_discovery::tool_spec::{SpecDocument, ToolInterface};

use crate::admin::operation::{KernelNeed, ServersToBegin};
use crate::admin::tools::{ListTools, ToolRow};
use crate::cli::context::CommandContext;
use crate::cli::input::read_text;
use crate::cli::link::KernelLink;
use crate::cli::tools;
use crate::terminal::{Exit, Failure};

/// Returns the tools of a file if there is one of this name, and asks the kernel otherwise. The names of a server's tools
/// have the server in front.
pub(super) async fn tools_of(cx: &CommandContext, source: &str) -> Result<Vec<ToolInterface>, Failure> {
    let path = Path::new(source);
    let extension = path.extension().and_then(OsStr::to_str);
    let is_path = source.contains(['/', '\\']) || matches!(extension, Some("md" | "json"));
    if source == "-" || path.is_file() || is_path {
        return of_text(path, &read_text(path)?);
    }
    cx.tell_untrusted();
    let find = async |link: &KernelLink| of_kernel(link, source).await;
    KernelLink::with(cx, KernelNeed::ANY_SERVERS, find).await
}

/// Returns the tools of JSON or of a specification document.
fn of_text(path: &Path, text: &str) -> Result<Vec<ToolInterface>, Failure> {
    if text.trim_start().starts_with(['{', '[']) {
        return ToolInterface::of_definitions(text).map_err(|error| {
            Failure::usage(format!("{}: {error}", path.display()))
                .hint("the file has the definition of a tool, or a result of tools/list")
        });
    }
    let tools = ToolInterface::of_document(&SpecDocument::read(path, text));
    if tools.is_empty() {
        let hint = "`mgp spec lint` says what a specification document needs";
        return Err(Failure::usage(format!("{} specifies no tool", path.display())).hint(hint));
    }
    Ok(tools)
}

async fn of_kernel(link: &KernelLink, name: &str) -> Result<Vec<ToolInterface>, Failure> {
    let server = ServersToBegin::Only(vec![name.into()]);
    let servers = link.settled(&server).await?;
    let rows = if servers.iter().any(|server| server.id.as_str() == name) {
        let list = |page| ListTools { server_id: Some(name.into()), name: None, page };
        link.all(list, |list| (list.tools, list.next_offset)).await?
    } else {
        vec![tools::one(link, name).await?]
    };
    if rows.is_empty() {
        return Err(Failure::unreachable(format!("the server `{name}` has no tools that may be used"))
            .hint("`mgp servers` shows its state, `mgp pin list --waiting` what is held"));
    }
    let interface = |row: &ToolRow| {
        ToolInterface::of_definition(&row.definition).ok_or_else(|| {
            let message = format!("the definition of {} has no schema of its parameters", row.name);
            Failure::new(Exit::Tool, message).hint("only its server can mend it")
        })
    };
    rows.iter().map(interface).collect()
}
