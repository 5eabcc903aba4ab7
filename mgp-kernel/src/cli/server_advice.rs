//! Advice on servers: the environment variables that a server probably misses, by its output and by its name, and the
//! setting of one that opens pages in a browser.

use std::collections::BTreeSet;

use mgp_discovery::config::model::ServerConfig;

/// An environment variable that a server probably needs and is not given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissedVariable {
    pub(super) name: String,
    /// The line that the server wrote about the variable; `None` for one that is only named after the server.
    pub(super) line: Option<String>,
    /// True if the variable is set where the command runs.
    pub(super) is_set: bool,
}

/// Returns the variables that a program probably misses, by the lines that it wrote last and by its name. `set` are the names of
/// the variables that are set where the command runs, of which the server is given those that `is_inherited` names.
pub(super) fn missed(
    server: &ServerConfig,
    log: &[String],
    set: &BTreeSet<String>,
    is_inherited: impl Fn(&str) -> bool,
) -> Vec<MissedVariable> {
    if server.command.is_none() {
        return Vec::new();
    }
    let own = |name: &str| {
        server.env.contains_key(name) || server.agents.values().any(|own| own.env.contains_key(name))
    };
    let is_given = |name: &str| own(name) || (set.contains(name) && is_inherited(name));
    let mut found: Vec<MissedVariable> = Vec::new();
    let mut add = |name: &str, line: Option<String>| {
        if !is_given(name) && found.iter().all(|known| known.name != name) {
            found.push(MissedVariable { name: name.to_owned(), line, is_set: set.contains(name) });
        }
    };
    for line in log.iter().rev() {
        for name in complained_about(line) {
            add(name, Some(line.trim().to_owned()));
        }
    }
    let words = names_of(server);
    set.iter().filter(|name| is_named_after(name, &words)).for_each(|name| add(name, None));
    found
}

/// Returns the variables that a line says are missing.
fn complained_about(line: &str) -> Vec<&str> {
    let lower = line.to_lowercase();
    if !words_of("complaints").any(|complaint| lower.contains(complaint)) {
        return Vec::new();
    }
    let says_variable = words_of("variable words").any(|word| lower.contains(word));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |word: &&str| {
        let spelled = word.len() >= 3
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        spelled
            && (word.contains('_') || says_variable)
            && !words_of("no variables").any(|none| match none.strip_suffix('*') {
                Some(start) => word.starts_with(start),
                None => *word == none,
            })
    };
    line.split(|c: char| !is_part(c)).filter(is_name).collect()
}

/// Returns the words by which a server is known: those of its id, its program and its arguments, such as a package.
fn names_of(server: &ServerConfig) -> BTreeSet<String> {
    let texts = server.command.iter().chain(&server.args).chain([&server.id]);
    // The folders on the way to a program say nothing about the server.
    let names =
        texts.map(|text| if text.starts_with('@') { text } else { text.rsplit('/').next().unwrap_or(text) });
    let words = names.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
    let is_own = |word: &String| word.len() >= 3 && words_of("common words").all(|common| common != word);
    words.map(str::to_lowercase).filter(is_own).collect()
}

/// Returns whether the first word of a variable is a server's, and its last word something that programs are configured
/// with.
fn is_named_after(variable: &str, words: &BTreeSet<String>) -> bool {
    // The variables of the kernel itself are for no server.
    if variable.starts_with("MGP_") {
        return false;
    }
    let is_alias = |line: &str| {
        let (word, names) = line.split_once(' ').unwrap_or((line, ""));
        words.contains(word) && names.split(' ').any(|name| name == variable)
    };
    if words_of("aliases").any(is_alias) {
        return true;
    }
    let lower = variable.to_lowercase();
    let (Some((first, _)), Some((_, last))) = (lower.split_once('_'), lower.rsplit_once('_')) else {
        return false;
    };
    words.contains(first) && words_of("settings").any(|setting| setting == last)
}

impl MissedVariable {
    /// Returns the change of the configuration that gives the variable to the server.
    pub(super) fn remedy(&self) -> String {
        let name = &self.name;
        let last = name.rsplit('_').next().unwrap_or(name);
        if words_of("secrets").any(|secret| secret == last) {
            return format!(
                "run `mgp secrets set {name}`, and write `env = {{ {name} = \"${{secret:{name}}}\" }}` in its entry in mgp.toml"
            );
        }
        if self.is_set {
            return format!(
                "write `pass_env = [\"{name}\"]` at the top of mgp.toml, or `env = {{ {name} = \"…\" }}` in its entry"
            );
        }
        format!("write `env = {{ {name} = \"…\" }}` in its entry in mgp.toml")
    }
}

/// Returns the words of a section of the file of words, one a line.
fn words_of(section: &str) -> impl Iterator<Item = &'static str> {
    let title = format!("[{section}]");
    let lines = include_str!("variables.txt").lines().skip_while(move |line| *line != title).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

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
    words_of("browsers").any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(args: &str, env: &str, log: &str, set: &[&str]) -> Vec<String> {
        let args: Vec<&str> = args.split_whitespace().collect();
        let json = serde_json::json!({"id": "x", "command": "npx", "args": args, "env": {env: "1"}});
        let server = serde_json::from_value(json).unwrap();
        let set = set.iter().map(|name| (*name).to_owned()).collect();
        let found = missed(&server, &[log.to_owned()], &set, |name| name == "HTTPS_PROXY");
        found.into_iter().map(|variable| variable.name).collect()
    }

    #[test]
    fn what_a_server_complains_about_is_missing() {
        for (line, name) in [
            ("Error: BRAVE_API_KEY environment variable is required", "BRAVE_API_KEY"),
            ("  raise KeyError(key)  KeyError: 'NOTION_TOKEN'", "NOTION_TOKEN"),
            ("fatal: please set `HUB_URL`", "HUB_URL"),
            ("Missing required environment variable: SLACKTOKEN", "SLACKTOKEN"),
            ("X_API_KEY is not set", "X_API_KEY"),
        ] {
            assert_eq!(names("-y some-package", "A", line, &[]), [name], "{line}");
        }
        for line in [
            "listening with X_API_KEY",
            "Error [ERR_MODULE_NOT_FOUND]: missing module",
            "HTTPS_PROXY is not set",
            "OWN_KEY is required",
            "the JSON is missing a field",
        ] {
            let found = names("-y some-package", "OWN_KEY", line, &["HTTPS_PROXY"]);
            assert!(found.is_empty(), "{line}: {found:?}");
        }
    }

    #[test]
    fn a_variable_that_is_named_after_a_server_is_probably_its() {
        let set = ["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ACTIONS", "NOTION_TOKEN", "PATH", "NODE_PATH"];
        let found = names("-y @modelcontextprotocol/server-github", "A", "", &set);
        assert_eq!(found, ["GH_TOKEN", "GITHUB_TOKEN"]);
        assert!(names("-y @modelcontextprotocol/server-github", "GITHUB_TOKEN", "", &set[..1]).is_empty());
        assert!(names("/srv/github/run.js", "A", "", &set).is_empty());
    }

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
