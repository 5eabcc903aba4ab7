//! What a server says of all its tools: its manifest, and tools of a version that the caller was written for.

use mgp_types::ext::{GetManifest, ServiceManifest};
use mgp_types::mcp::Tool;
use mgp_types::mgp::{MgpVersion, method};
use mgp_types::{Error, Request, Response, RpcService, code};

use crate::{Call, Client};

impl<S: RpcService> Client<S> {
    /// Finds a listed tool by its name, or by its name and the least version that will do: `weather@^1.2` is any version
    /// from 1.2.0 on and before 2.0.0. [`call_listed`](Client::call_listed) calls the tool.
    ///
    /// The version is the one in the tool's `_meta` under `version`.
    ///
    /// # Errors
    /// The server has no such tool, or its version is none of those that will do, or is not known; nothing is called then.
    pub async fn find_tool(&self, wanted: &str) -> Result<Tool, Error> {
        let (name, least) = match wanted.split_once('@') {
            Some((name, least)) => (name, Some(least_version(wanted, least)?)),
            None => (wanted, None),
        };
        let mut tools = self.list_tools().await?.into_iter();
        let unknown = || Error::new(code::TOOL_NOT_FOUND, format!("the server lists no tool `{name}`"));
        let tool = tools.find(|tool| tool.name == name).ok_or_else(unknown)?;
        match least {
            Some(least) => checked(tool, least),
            None => Ok(tool),
        }
    }
}

/// Reads the least version of a tool that will do; each later one of the same major number does too.
fn least_version(wanted: &str, least: &str) -> Result<MgpVersion, Error> {
    let least = least.strip_prefix('^').filter(|least| !least.contains(['-', '+']));
    least.and_then(|least| least.parse().ok()).ok_or_else(|| {
        Error::invalid_params(format!(
            "`{wanted}` names no version of a tool: write NAME@^MAJOR.MINOR, like `weather@^1.2`"
        ))
    })
}

fn checked(tool: Tool, least: MgpVersion) -> Result<Tool, Error> {
    let name = &tool.name;
    let written = tool.meta.as_ref().and_then(|meta| meta.get("version")?.to_text());
    // All three numbers are there, and nothing else.
    let found = written.and_then(|written| {
        written.parse::<MgpVersion>().ok().filter(|version| version.to_string() == written)
    });
    let message = match found {
        Some(found) if found.is_compatible_with(least) && found >= least => return Ok(tool),
        Some(found) => format!(
            "`{name}` is version {found} at this server, and {least} or later of the same major number is wanted"
        ),
        None => format!(
            "`{name}` does not say which version it is, and {least} or later is wanted: ask for `{name}` to take any"
        ),
    };
    Err(Error::new(code::TOOL_NOT_FOUND, message))
}

impl<S: RpcService> Client<S> {
    /// Asks for the service manifest: one document about all tools, with their limits, costs and scopes.
    ///
    /// The manifest is cached as long as it says, and asked for again once the server tells that it changed;
    /// [`clear_cache`](Client::clear_cache) forgets it earlier.
    pub fn manifest(&self) -> Call<S, ServiceManifest> {
        self.call(Request::with_body(method::MANIFEST_GET, &GetManifest::default()), Response::body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_caret_and_one_to_three_numbers_are_understood() {
        assert_eq!(least_version("x@^1.2", "^1.2").unwrap(), MgpVersion::new(1, 2, 0));
        for wrong in ["", "1.2", "~1.2", "^", "^v1", "latest", "^1.2.3.4", "^1.2.3-beta", "^+1", "^1..0"] {
            assert!(least_version("x", wrong).is_err(), "{wrong}");
        }
    }
}
