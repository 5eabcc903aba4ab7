use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The keys that are read through a method of `mgp-discovery`, which says what follows from them.
const JUDGED_THERE: [&str; 10] = [
    "client_secret", "commands", "cwd", "in", "instances", "pass_env", "private_key", "require_keys",
    "style", "webhook",
];

/// The names of all members that a part of the schema knows.
fn names(schema: &Value, known: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                known.extend(properties.keys().cloned());
            }
            // A scope is passed on as a whole: what it says is the specification's.
            let others = members.iter().filter(|(name, _)| *name != "Scope");
            others.for_each(|(_, member)| names(member, known));
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, known)),
        _ => {}
    }
}

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

fn is_read(text: &str, key: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    text.split(&format!(".{key}")).skip(1).any(is_end)
}

#[test]
fn every_key_of_the_configuration_is_read() {
    let mut keys = BTreeSet::new();
    names(&serde_json::from_str(&mgp_discovery::config::schema()).unwrap(), &mut keys);
    assert!(keys.len() > 80 && keys.contains("keep_days"), "{keys:?}");
    let mut text = String::new();
    for folder in ["src", "core/src"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut text);
    }
    let unread: Vec<_> =
        keys.iter().filter(|key| !JUDGED_THERE.contains(&key.as_str()) && !is_read(&text, key)).collect();
    assert!(unread.is_empty(), "what do these keys do? {unread:?}");
}
