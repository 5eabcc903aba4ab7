use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mgp_types::mgp::{CallEffect, ResolvedTool, ServerId, ToolName, TrustLevel};
use mgp_types::{Object, RawJson};
use serde_json::Value;

use super::CallEffects;
use crate::doubles::cases;
use crate::tool::{ArgumentNatures, ToolRules, effective};

/// Returns the tool `name` of a server that nobody distrusts, whose schema has the types of `arguments`, and these.
pub(in crate::validator) fn called_tool(
    name: &str,
    annotations: &str,
    arguments: &str,
) -> (Arc<ResolvedTool>, ArgumentNatures, Value) {
    let members = Object::parse(arguments.to_owned()).unwrap();
    let schema = members.iter().map(|(member, value)| {
        let kind = match value.as_bytes()[0] {
            b'"' => "string",
            b't' | b'f' => "boolean",
            b'[' => "array",
            b'{' => "object",
            _ => "number",
        };
        format!(r#""{member}":{{"type":"{kind}"}}"#)
    });
    let schema = schema.collect::<Vec<_>>().join(",");
    let definition = format!(
        r#"{{"name":"{name}","annotations":{annotations},"inputSchema":{{"type":"object","properties":{{{schema}}}}}}}"#
    );
    let definition = Object::parse(definition).unwrap();
    let security = effective(&definition, &ToolRules::new(TrustLevel::Standard));
    let natures = ArgumentNatures::of(&definition);
    let tool = ResolvedTool::new(ServerId::new("s"), ToolName::new(name), definition, security);
    (tool, natures, RawJson::parse(arguments.to_owned()).unwrap().to().unwrap())
}

/// Returns the effect of a call of such a tool.
fn effect(name: &str, annotations: &str, arguments: &str) -> Option<CallEffect> {
    let (tool, natures, arguments) = called_tool(name, annotations, arguments);
    CallEffects::of(&tool, &natures).map(|effects| effects.of_call(&arguments, &natures, None).0)
}

#[test]
fn queries_read_unless_their_statement_writes() {
    for (name, statement, expected) in [
        ("execute_sql", "select * from customers limit 10", CallEffect::Reads),
        ("execute_query", "with a as (select 1) select * from a", CallEffect::Reads),
        ("query", "explain select 1", CallEffect::Reads),
        ("run_query", "drop table users", CallEffect::Destroys),
        ("read_query", "delete from orders", CallEffect::Destroys),
        ("execute_sql", "update customers set city = 'Zug'", CallEffect::Destroys),
        ("execute_sql", "select 1; truncate orders", CallEffect::Destroys),
        ("execute_sql", "insert into orders values (1)", CallEffect::Writes),
    ] {
        let arguments = format!(r#"{{"sql":"{statement}"}}"#);
        assert_eq!(
            effect(name, r#"{"readOnlyHint":true}"#, &arguments),
            Some(expected),
            "{name} {statement}"
        );
    }
}

#[test]
fn names_and_arguments_tell_the_effect() {
    let wrong = cases(include_str!("cases.txt")).filter_map(|(expected, call)| {
        let (name, arguments) = call.split_once(' ').unwrap();
        let told = format!("{:?}", effect(name, "{}", arguments).unwrap());
        (told != expected).then(|| format!("{told} in place of {expected}: {call}"))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn hints_of_a_server_make_no_effect_better() {
    let harmless = r#"{"readOnlyHint":true,"destructiveHint":false}"#;
    for name in ["delete_repo", "transfer_money", "drop_table", "wipe_disk", "send_mail", "invite_user"] {
        assert!(effect(name, harmless, "{}") >= Some(CallEffect::Sends), "{name}");
    }
    assert_eq!(effect("frobnicate", harmless, "{}"), Some(CallEffect::Unknown));
    let destructive = r#"{"destructiveHint":true}"#;
    assert_eq!(effect("kubectl_apply", destructive, "{}"), Some(CallEffect::Destroys));
    // It is the default as well, and many servers write it on each of their tools.
    assert_eq!(effect("frobnicate", destructive, "{}"), Some(CallEffect::Unknown));
    assert_eq!(effect("retry_pipeline", destructive, "{}"), Some(CallEffect::Sends));
    assert_eq!(effect("browser_click", destructive, "{}"), Some(CallEffect::Writes));
    let list = effect("git_stash", destructive, r#"{"mode":"list"}"#);
    assert_eq!(list, Some(CallEffect::Reads), "one of its operations is destructive");
}

#[test]
fn a_file_that_is_there_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old.txt"), folder.path().join("new.txt"));
    fs::write(&old, "kept").unwrap();
    let call = |name: &str, arguments: String| effect(name, "{}", &arguments).unwrap();
    let write = |path: &PathBuf| call("write_file", format!(r#"{{"path":{path:?},"content":"a"}}"#));
    assert_eq!([write(&new), write(&old)], [CallEffect::Writes, CallEffect::Destroys]);
    let relative = write(&PathBuf::from("a.txt"));
    assert_eq!(relative, CallEffect::Destroys, "nobody knows what the server takes it for");
    let moved = |from: &PathBuf, to: &PathBuf| {
        call("move_file", format!(r#"{{"source":{from:?},"destination":{to:?}}}"#))
    };
    assert_eq!([moved(&old, &new), moved(&new, &old)], [CallEffect::Writes, CallEffect::Destroys]);
    assert_eq!(call("edit_file", format!(r#"{{"path":{old:?},"content":"a"}}"#)), CallEffect::Writes);
    assert_eq!(call("read_file", format!(r#"{{"path":{old:?}}}"#)), CallEffect::Reads);
}

#[test]
fn arguments_that_a_tool_does_not_declare_make_no_trial() {
    let (tool, natures, _) = called_tool("git_clean", "{}", "{}");
    let effects = CallEffects::of(&tool, &natures).unwrap();
    let arguments = serde_json::json!({"dryRun": true});
    assert_eq!(effects.of_call(&arguments, &natures, None).0, CallEffect::Destroys);
}
