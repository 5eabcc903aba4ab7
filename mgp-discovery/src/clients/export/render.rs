//! The entry of a server in the form of each client.

use serde_json::{Map, Value, json};

use super::{ClientEntry, ClientFileChange, ClientKind, ExportError};

/// Returns the entry in the form of the client.
pub(super) fn entry(kind: ClientKind, change: &ClientFileChange) -> Result<Value, ExportError> {
    let [.., program, remote] = kind.facts();
    let (form, command, args, url) = match &change.entry {
        ClientEntry::Command { command, args } => (program, command.as_str(), args.as_slice(), ""),
        ClientEntry::Url(url) => (remote, "", &[][..], url.as_str()),
    };
    let mut entry: Map<String, Value> =
        serde_json::from_str(form).map_err(|_| ExportError::NoUrl { kind })?;
    for value in entry.values_mut() {
        *value = match value.as_str() {
            Some("NAME") => json!(change.name),
            Some("COMMAND") => json!(command),
            Some("ARGS") => json!(args),
            Some("LINE") => std::iter::once(command).chain(args.iter().map(String::as_str)).collect(),
            Some("URL") => json!(url),
            _ => continue,
        };
    }
    Ok(Value::Object(entry))
}

/// Returns the entry as YAML, with the key under which the client looks for servers. JSON on one line is YAML as well.
pub(super) fn yaml(kind: ClientKind, change: &ClientFileChange, entry: &Value) -> String {
    let home = kind.homes()[0].join(".");
    let item = if kind == ClientKind::Continue { "-".to_owned() } else { format!("{}:", json!(change.name)) };
    format!("{home}:\n  {item} {entry}")
}
