use mgp_types::Object;
use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::{EffectiveSecurity, Permission, RiskLevel, SideEffect, ValidatorName};

use super::nature::{Nature, Natures};
use super::words::words;

/// What a definition that says nothing of security lets one guess (§8.2), from its annotations, name and schema.
///
/// A guess errs on the careful side: hints can raise the risk that the name tells, and lower it only to what reading is.
pub(super) fn derive(definition: &Object, natures: &Natures) -> EffectiveSecurity {
    let annotations: ToolAnnotations =
        definition.get("annotations").and_then(|raw| raw.to().ok()).unwrap_or_default();
    let manner = Manner::of(&definition.text("name").unwrap_or_default());
    let reads = annotations.read_only_hint.unwrap_or(manner == Manner::Reads);
    let risk = match (annotations.read_only_hint, annotations.destructive_hint, manner) {
        (_, Some(true), _) | (Some(false) | None, None, Manner::Destroys) => RiskLevel::Dangerous,
        (Some(true), _, Manner::Reads | Manner::Unclear) | (None, _, Manner::Reads) => RiskLevel::Safe,
        _ => RiskLevel::Moderate,
    };
    let mut derived = EffectiveSecurity::new(risk);
    derived.reversible = annotations.destructive_hint.map(|destructive| !destructive);
    add_meanings(&mut derived, reads, |nature| natures.has(nature));
    derived
}

/// Adds what arguments of the natures that `has` tells of need, and what they are checked with.
pub(super) fn add_meanings(derived: &mut EffectiveSecurity, reads: bool, has: impl Fn(Nature) -> bool) {
    for (nature, permission, effect, validator) in MEANINGS {
        if !has(*nature) {
            continue;
        }
        let permission = match permission {
            Permission::FilesystemRead if !reads => Permission::FilesystemWrite,
            other => other.clone(),
        };
        if !derived.permissions.contains(&permission) {
            derived.permissions.push(permission);
            derived.side_effects.push(effect.clone());
            derived.validators.extend(validator.clone());
        }
    }
}

const MEANINGS: &[(Nature, Permission, SideEffect, Option<ValidatorName>)] = &[
    (Nature::Command, Permission::ShellExecute, SideEffect::Process, Some(ValidatorName::Sandbox)),
    (Nature::Code, Permission::CodeExecution, SideEffect::Process, Some(ValidatorName::CodeSafety)),
    (Nature::Url, Permission::NetworkOutbound, SideEffect::Network, Some(ValidatorName::NetworkRestricted)),
    (Nature::Path, Permission::FilesystemRead, SideEffect::Filesystem, None),
];

/// What the name of a tool says that it does; its first telling word decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Reads,
    Writes,
    Destroys,
    Unclear,
}

impl Manner {
    pub(crate) fn of(name: &str) -> Self {
        for word in words(name) {
            let word = &&*word;
            if READS.contains(word) {
                return Self::Reads;
            } else if DESTROYS.contains(word) {
                return Self::Destroys;
            } else if WRITES.contains(word) {
                return Self::Writes;
            }
        }
        Self::Unclear
    }
}

const READS: &[&str] = &[
    "get",
    "list",
    "read",
    "search",
    "find",
    "fetch",
    "query",
    "show",
    "view",
    "describe",
    "count",
    "check",
    "lookup",
    "inspect",
    "status",
    "browse",
    "look",
    "peek",
    "stat",
    "tree",
    "grep",
    "summarize",
    "explain",
    "analyze",
    "compare",
    "diff",
    "validate",
    "calculate",
    "convert",
    "translate",
    "head",
    "tail",
    "download",
    "resolve",
    "info",
    "help",
    "ping",
];
const WRITES: &[&str] = &[
    "write", "create", "add", "update", "set", "put", "post", "edit", "append", "insert", "upload", "save",
    "rename", "move", "copy", "modify", "patch", "send", "publish", "commit", "merge", "push", "store",
    "assign", "enable", "start", "open", "close", "click", "fill", "submit", "import", "restore", "reply",
    "comment", "invite", "register", "make",
];
const DESTROYS: &[&str] = &[
    "delete",
    "remove",
    "drop",
    "destroy",
    "purge",
    "wipe",
    "erase",
    "truncate",
    "kill",
    "terminate",
    "execute",
    "exec",
    "run",
    "shell",
    "eval",
    "format",
    "reset",
    "revoke",
    "uninstall",
    "shutdown",
    "reboot",
    "deploy",
    "transfer",
    "pay",
    "purchase",
    "withdraw",
    "overwrite",
    "clear",
    "flush",
    "disable",
    "stop",
    "unlink",
    "sudo",
    "install",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(definition: &str) -> EffectiveSecurity {
        let definition = Object::parse(definition.to_owned()).unwrap();
        derive(&definition, &Natures::of(&definition))
    }

    #[test]
    fn names_and_annotations_give_the_risk() {
        for (definition, risk) in [
            (r#"{"name":"get_weather"}"#, RiskLevel::Safe),
            (r#"{"name":"create_issue"}"#, RiskLevel::Moderate),
            (r#"{"name":"delete_file"}"#, RiskLevel::Dangerous),
            (r#"{"name":"executeCommand"}"#, RiskLevel::Dangerous),
            (r#"{"name":"frobnicate"}"#, RiskLevel::Moderate),
            (r#"{"name":"frobnicate","annotations":{"readOnlyHint":true}}"#, RiskLevel::Safe),
            (r#"{"name":"delete_file","annotations":{"readOnlyHint":true}}"#, RiskLevel::Moderate),
            (r#"{"name":"get_weather","annotations":{"readOnlyHint":false}}"#, RiskLevel::Moderate),
            (r#"{"name":"get_weather","annotations":{"destructiveHint":true}}"#, RiskLevel::Dangerous),
            (r#"{"name":"delete_draft","annotations":{"destructiveHint":false}}"#, RiskLevel::Moderate),
        ] {
            assert_eq!(derived(definition).risk, risk, "{definition}");
        }
    }

    #[test]
    fn arguments_give_permissions_effects_and_validators() {
        let shell = derived(r#"{"name":"run","inputSchema":{"properties":{"command":{"type":"string"}}}}"#);
        assert_eq!(shell.permissions, [Permission::ShellExecute]);
        assert_eq!(shell.validators, [ValidatorName::Sandbox]);
        assert_eq!(shell.side_effects, [SideEffect::Process]);
        let read = derived(r#"{"name":"read_file","inputSchema":{"properties":{"path":{"type":"string"}}}}"#);
        assert_eq!(read.permissions, [Permission::FilesystemRead]);
        let write =
            derived(r#"{"name":"write_file","inputSchema":{"properties":{"path":{"type":"string"}}}}"#);
        assert_eq!(write.permissions, [Permission::FilesystemWrite]);
    }
}
