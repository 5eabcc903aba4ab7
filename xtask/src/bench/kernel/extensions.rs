//! What the optional extensions cost: instructions a call of a kernel whose tool, agent and client use them, beside the
//! same calls without any.

use std::fs;

use anyhow::Result;

use super::figure::{Figure, Limit};
use super::gateway::{Gateway, child};
use super::programs::KernelProgram;
use super::rpc::Client;
use crate::bench::callgrind;
use crate::process::Background;

/// What is on in a run.
#[derive(Clone, Copy)]
struct Setting<'a> {
    /// What the agent has in the configuration, and what the tool requires.
    config: &'a str,
    /// What the server declares of its tool, behind its schema.
    declared: &'a str,
    /// What stands in the client's capabilities, and in `_meta` of its calls.
    capabilities: &'a str,
    meta: &'a str,
}

/// Returns the figures: what it takes to read the longer requests of clients that declare extensions, and what costs,
/// scopes and hints add to that.
pub(super) fn figures(kernel: &KernelProgram) -> Result<Vec<Figure>> {
    let plain = instructions(kernel, &PLAIN)?;
    let longer =
        instructions(kernel, &Setting { capabilities: &capabilities("that-know-nothing-of-us"), ..PLAIN })?;
    let declared = capabilities("mcp-extension-proposals");
    let on = Setting { config: ON, declared: DECLARED, capabilities: &declared, meta: BUDGET };
    let purpose = format!("{BUDGET},\"intent\":\"see what comes back\"");
    let used = instructions(kernel, &on)?;
    let with_purpose = instructions(kernel, &Setting { meta: &purpose, ..on })?;
    Ok(vec![
        Figure::ours("instructions a call without extensions", plain, Limit::None),
        Figure::ours("more with four unknown extensions in each request", longer - plain, Limit::None),
        Figure::ours(
            "more with costs, sizes, origins and scopes",
            used - longer,
            Limit::AtMost(INSTRUCTIONS),
        ),
        Figure::ours("more with a purpose, for which tools are searched", with_purpose - used, Limit::None),
    ])
}

/// Returns the member of a client's capabilities that declares four extensions of this name space.
fn capabilities(space: &str) -> String {
    let ids = ["cost_transparency", "provenance", "intent_hints", "scoped_auth"];
    let members = ids.map(|name| format!("\"io.github.{space}/{name}\":{{}}"));
    format!("\"extensions\":{{{}}}", members.join(","))
}

fn instructions(kernel: &KernelProgram, setting: &Setting<'_>) -> Result<f64> {
    let script = kernel.folder.join("declares.sh");
    fs::write(&script, SERVER.replace("DECLARED", setting.declared))?;
    let cost = callgrind::each([FEW, MANY], |calls| {
        let rules =
            format!("{}{}", child("g", &["sh".into(), script.display().to_string()], ""), setting.config);
        let gateway = Gateway::kernel_of(kernel, &rules)?;
        let profile = kernel.folder.join("callgrind.out");
        let mut valgrind =
            callgrind::profiled_in(SERVING, gateway.command.iter().map(String::as_str), &profile);
        let running = Background::start(&mut valgrind, gateway.port, &kernel.folder.join("valgrind.log"))?;
        gateway.wait_for(1)?;
        let mut client = Client::connect(&gateway)?.declaring(setting.capabilities, setting.meta);
        for _ in 0..calls.parse::<u32>()? {
            client.request("tools/call", Some("g.echo"), r#""name":"g.echo","arguments":{"text":"x"}"#)?;
        }
        running.end()?;
        callgrind::read(&profile)
    })?;
    Ok(cost.instructions)
}

const PLAIN: Setting<'static> = Setting { config: "", declared: "", capabilities: "", meta: "" };

const BUDGET: &str = r#""budget":{"max_units":4}"#;

const ON: &str = "[servers.tools.echo]\nrequired_scopes = [\"say\"]\n\
                  [[agents]]\nid = \"bench\"\nscopes = [\"say\"]\nbudget = { units = 1000000000 }\n";

const DECLARED: &str = r#","latency":"fast","cost":{"category":"metered","estimated_units":1,"unit_label":"credits"},"max_input_size_bytes":4096"#;

/// A server with one tool.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"g","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"echo","description":"Says a text again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}DECLARED}]}' ;;
    *'"method":"tools/call"'*)
      result='{"content":[{"type":"text","text":"x"}]}' ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// What serves a client's connection: from the bytes of a request to the call of the server, and from its answer to the bytes
/// of the response.
const SERVING: &str = "mgp_transport::http::server::connection::run*";

const FEW: u32 = 100;
const MANY: u32 = 600;

/// The most instructions that costs, sizes, origins and scopes may add to a call. They take some three microseconds, at the 4.3
/// instructions a nanosecond of the calls that BENCHMARKS.md has.
const INSTRUCTIONS: f64 = 13_000.0;
