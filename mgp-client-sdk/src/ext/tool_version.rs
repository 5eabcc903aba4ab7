//! Tools of a version that the caller was written for.

use mgp_types::mcp::Tool;
use mgp_types::{Error, RpcService, code};

use crate::Client;

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
            Some((name, least)) => (name, Some(LeastVersion::read(wanted, least)?)),
            None => (wanted, None),
        };
        let tools = self.list_tools().await?;
        let tool = tools
            .into_iter()
            .find(|tool| tool.name == name)
            .ok_or_else(|| Error::new(code::TOOL_NOT_FOUND, format!("the server lists no tool `{name}`")))?;
        match least {
            Some(least) => least.check(tool),
            None => Ok(tool),
        }
    }
}

/// The least version of a tool that will do; each later one of the same major number does too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeastVersion([u32; 3]);

impl LeastVersion {
    fn read(wanted: &str, least: &str) -> Result<Self, Error> {
        least.strip_prefix('^').and_then(|least| numbers(least, 1)).map(Self).ok_or_else(|| {
            Error::invalid_params(format!(
                "`{wanted}` names no version of a tool: write NAME@^MAJOR.MINOR, like `weather@^1.2`"
            ))
        })
    }

    /// Returns the tool, if its version will do.
    fn check(self, tool: Tool) -> Result<Tool, Error> {
        let [major, minor, patch] = self.0;
        let name = &tool.name;
        let version = tool.meta.as_ref().and_then(|meta| meta.get("version")?.to_text());
        let Some(found) = version.as_deref().and_then(|version| numbers(version, 3)) else {
            return Err(unsuitable(format!(
                "`{name}` does not say which version it is, and {major}.{minor}.{patch} or later is wanted: ask for \
                 `{name}` to take any"
            )));
        };
        if found[0] == major && found >= self.0 {
            return Ok(tool);
        }
        let [at_major, at_minor, at_patch] = found;
        Err(unsuitable(format!(
            "`{name}` is version {at_major}.{at_minor}.{at_patch} at this server, and {major}.{minor}.{patch} or later \
             before {}.0.0 is wanted",
            major.saturating_add(1)
        )))
    }
}

fn unsuitable(message: String) -> Error {
    Error::new(code::TOOL_NOT_FOUND, message)
}

/// Reads a version of `least` to three numbers; those that are left out are 0.
fn numbers(version: &str, least: usize) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    let mut written = 0;
    for part in version.split('.') {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        *numbers.get_mut(written)? = part.parse().ok().filter(|_| is_number)?;
        written += 1;
    }
    (written >= least).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_to_three_numbers() {
        assert_eq!(numbers("1.2.3", 3), Some([1, 2, 3]));
        assert_eq!(numbers("1.2", 1), Some([1, 2, 0]));
        for wrong in ["", "1.2.3.4", "1.x.0", "+1.0.0", "1.2.3-beta", " 1.0.0", "1..0", "4294967296.0.0"] {
            assert_eq!(numbers(wrong, 1), None, "{wrong}");
        }
        assert_eq!(numbers("1.2", 3), None);
    }

    #[test]
    fn only_a_caret_and_a_version_are_understood() {
        assert_eq!(LeastVersion::read("x@^1.2", "^1.2").unwrap(), LeastVersion([1, 2, 0]));
        for wrong in ["", "1.2", "~1.2", "^", "^v1", "latest"] {
            assert!(LeastVersion::read("x", wrong).is_err(), "{wrong}");
        }
    }
}
