//! The reference page `docs/configuration.md`, made from the types.

use std::fmt::Write;

use super::merge::{FolderKeyRule, folder_keys};
use super::shape::{self, KeyShape, KnownWord, Shape};

const INTRODUCTION: &str = include_str!("introduction.md");

/// Returns the reference page of `mgp.toml`, in Markdown, made from the documentation of the types.
pub fn reference() -> String {
    let (ignored, rules): (Vec<_>, Vec<_>) =
        folder_keys().partition(|(_, rule)| matches!(rule, FolderKeyRule::Ignored));
    let ignored: Vec<_> = ignored.iter().map(|(key, _)| format!("`{key}`")).collect();
    let rules: Vec<_> = rules.iter().map(|(key, rule)| format!("* `{key}`: {}", rule.describe())).collect();
    let mut page =
        INTRODUCTION.replace("{ignored}", &ignored.join(", ")).replace("{folder}", &rules.join("\n"));
    let alone = shape::root().keys.iter().filter(|key| key.is_list_of_texts());
    page.push_str("\n## Above all sections\n\n");
    keys(&mut page, alone);
    for key in &shape::root().keys {
        section(&mut page, key, "", 2);
    }
    page
}

fn section(page: &mut String, key: &KeyShape, above: &str, level: usize) {
    let path = if above.is_empty() { key.name.clone() } else { format!("{above}.{}", key.name) };
    let Some((header, table)) = key.section(&path) else { return };
    let path = header.trim_matches(['[', ']']);
    // Writing to a `String` does not fail.
    let _ = write!(page, "\n{} `{header}`\n\n{}\n\n", "#".repeat(level), key.doc);
    keys(page, &table.keys);
    for key in &table.keys {
        section(page, key, path, level + 1);
    }
}

fn keys<'a>(page: &mut String, keys: impl IntoIterator<Item = &'a KeyShape>) {
    for key in keys {
        let words = if let Shape::Words { words, .. } = &key.shape { words.as_slice() } else { &[] };
        let words: Vec<_> = words.iter().filter(|word| !word.doc.is_empty()).collect();
        let value = if words.is_empty() { value(&key.shape) } else { "a word".into() };
        let _ = write!(page, "* `{}` ({value}", key.name);
        if key.required {
            page.push_str(", required");
        } else if let Some(default) = &key.default {
            let _ = write!(page, ", `{default}`");
        }
        // The section of a table begins with its meaning.
        let meaning = if value.ends_with("below") { "" } else { key.doc.as_str() };
        let _ = writeln!(page, "){}{meaning}", if meaning.is_empty() { "" } else { ": " });
        for KnownWord { word, doc } in words {
            let _ = writeln!(page, "  * `{word}`: {doc}");
        }
    }
}

fn value(shape: &Shape) -> String {
    match shape {
        Shape::Table(_) => "table, below".into(),
        Shape::Map(each) if matches!(**each, Shape::Table(_)) => "tables, below".into(),
        Shape::Map(each) => format!("table of {}", value(each)),
        Shape::List(each) if matches!(**each, Shape::Table(_)) => "list of tables, below".into(),
        Shape::List(each) => format!("list of {}", value(each)),
        Shape::Words { words, open } => {
            let known: Vec<String> = words.iter().map(|known| format!("`{}`", known.word)).collect();
            format!("{}{}", known.join(", "), if *open { " or another" } else { "" })
        }
        Shape::Text => "text".into(),
        Shape::Flag => "true or false".into(),
        Shape::Number { least: 0, .. } => "number".into(),
        Shape::Number { least, .. } => format!("number from {least} up"),
        Shape::Anything => "anything".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::shape::TableShape;

    #[test]
    fn the_page_in_docs_is_what_the_types_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == reference(),
            "write it anew: cargo run -p mgp-discovery --example reference > docs/configuration.md"
        );
    }

    #[test]
    fn the_example_is_read_without_a_warning() {
        let example = include_str!("example.toml");
        let (config, warnings) = Config::parse("example.toml".as_ref(), example).unwrap();
        assert_eq!(warnings, []);
        assert!(config.servers.len() > 1);
    }

    #[test]
    fn every_key_of_the_types_has_a_rule_for_folders() {
        let sections: Vec<_> = shape::root().keys.iter().map(|key| key.name.as_str()).collect();
        let has_rule = |key: &str| folder_keys().any(|(known, _)| known == key);
        for section in &shape::root().keys {
            let Shape::Table(table) = &section.shape else {
                assert!(has_rule(&section.name), "{}", section.name);
                continue;
            };
            for key in &table.keys {
                let key = format!("{}.{}", section.name, key.name);
                assert!(has_rule(&section.name) || has_rule(&key), "{key}");
            }
        }
        for (key, _) in folder_keys() {
            assert!(sections.contains(&key.split('.').next().unwrap()), "{key}");
        }
    }

    /// The keys that a folder sets for its own servers. They open nothing of the user's to those.
    const OF_FOLDERS_SERVERS: [&str; 29] = [
        "id", "command", "args", "cwd", "env", "confine", "confinement", "url", "headers", "oauth", "socket",
        "transport", "protocol", "dialect", "enabled", "description", "mgp", "restart_policy",
        "max_restarts", "restart_window_secs", "backoff_base_ms", "backoff_max_ms", "limits", "agents",
        "sharing", "max_instances", "instances", "tools", "package",
    ];
    const OF_THEIR_SECURITY: [&str; 4] = ["validators", "permissions", "risk_at_least", "confirmation"];

    #[test]
    fn a_folder_sets_no_key_of_servers_that_is_not_listed() {
        let has_rule = |key: String| folder_keys().any(|(known, _)| known == key);
        let Shape::List(each) = &shape::root().key("servers").unwrap().shape else { panic!() };
        let Shape::Table(server) = &**each else { panic!() };
        let Shape::Table(security) = &server.key("security").unwrap().shape else { panic!() };
        for key in server.keys.iter().filter(|key| key.name != "security") {
            let name = key.name.as_str();
            assert!(OF_FOLDERS_SERVERS.contains(&name) || has_rule(format!("servers.{name}")), "{name}");
        }
        for key in &security.keys {
            let name = key.name.as_str();
            assert!(
                OF_THEIR_SECURITY.contains(&name) || has_rule(format!("servers.security.{name}")),
                "{name}"
            );
        }
    }

    #[test]
    fn every_key_of_the_types_is_explained() {
        fn explained(table: &TableShape, path: &str) {
            for key in &table.keys {
                let path = format!("{path}.{}", key.name);
                assert!(!key.doc.is_empty(), "{path} has no explanation");
                assert!(!matches!(key.shape, Shape::Anything), "{path} may be anything");
                match &key.shape {
                    Shape::Table(table) => explained(table, &path),
                    Shape::List(each) | Shape::Map(each) => {
                        if let Shape::Table(table) = &**each {
                            explained(table, &path);
                        }
                    }
                    _ => {}
                }
            }
        }
        assert!(!shape::root().keys.is_empty());
        explained(shape::root(), "");
    }

    #[test]
    fn the_schema_for_editors_names_every_section() {
        let schema: serde_json::Value = serde_json::from_str(&shape::schema()).unwrap();
        for key in &shape::root().keys {
            assert!(schema["properties"].get(&key.name).is_some(), "{}", key.name);
        }
    }
}
