//! Advice for servers that are known to open pages in a browser.

use mgp_discovery::config::model::ServerConfig;

/// Returns the setting to suggest for a server that is known to open pages in a browser and has no network settings, so
/// that it may not open pages of this machine.
pub(super) fn suggestion(server: &ServerConfig) -> Option<String> {
    let is_settled = server.network.preset.is_some() || !server.network.allow.is_empty();
    let is_browser = || server.command.iter().chain(&server.args).any(|word| is_known(word));
    (!is_settled && is_browser()).then(|| {
        format!(
            "`{}` opens pages in a browser: `[servers.network] preset = \"browser\"` in its table in `mgp.toml` lets it open \
             those of this machine, such as http://localhost:3000",
            server.id
        )
    })
}

/// Returns whether a word of a command line names a known package or program, in any version or folder.
fn is_known(word: &str) -> bool {
    let is_path = word.starts_with(['/', '.', '~']);
    let word = if is_path { word.rsplit('/').next().unwrap_or(word) } else { word };
    let version = word.char_indices().skip(1).find(|(_, letter)| matches!(letter, '@' | ':' | '='));
    let name = version.map_or(word, |(at, _)| &word[..at]);
    BROWSERS.lines().any(|known| !known.starts_with('#') && !known.is_empty() && known == name)
}

/// The known packages and programs, one per line; `#` begins a comment.
const BROWSERS: &str = include_str!("browsers.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_known_by_its_package_in_any_version_and_a_settled_one_is_left_alone() {
        let server = |args: &str, more: &str| -> ServerConfig {
            serde_json::from_str(&format!(r#"{{"id":"web","command":"npx","args":[{args}]{more}}}"#)).unwrap()
        };
        for args in [
            r#""-y","@playwright/mcp@latest""#,
            r#""chrome-devtools-mcp""#,
            r#""/opt/bin/mcp-server-playwright""#,
        ] {
            assert!(suggestion(&server(args, "")).unwrap().contains("preset = \"browser\""), "{args}");
        }
        assert_eq!(suggestion(&server(r#""-y","@playwright/test""#, "")), None);
        let settled = r#","network":{"preset":"browser"}"#;
        assert_eq!(suggestion(&server(r#""@playwright/mcp""#, settled)), None);
    }
}
