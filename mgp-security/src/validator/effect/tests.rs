use std::fs;
use std::path::PathBuf;

use mgp_types::mgp::{CallEffect, ResolvedTool, ServerId, ToolName, TrustLevel};
use mgp_types::{Object, RawJson};

use super::CallEffects;
use crate::tool::{ArgumentNatures, ToolRules, effective};

/// Returns the effect of a call of the tool `name`, whose schema has the types of `arguments`.
fn effect(name: &str, annotations: &str, arguments: &str) -> Option<CallEffect> {
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
    let arguments = RawJson::parse(arguments.to_owned()).unwrap().to().unwrap();
    CallEffects::of(&tool).map(|effects| effects.of_call(&arguments, &natures))
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
    use CallEffect::{Destroys, GivesAccess, Reads, Runs, Sends, Spends, Writes};
    for (name, arguments, expected) in [
        ("git_status", r#"{"path":"/r"}"#, Reads),
        ("git_add", r#"{"path":"/r","all":true}"#, Writes),
        ("git_commit", r#"{"message":"delete the old force"}"#, Writes),
        ("git_clean", r#"{"path":"/r"}"#, Destroys),
        ("git_push", r#"{"path":"/r","branch":"main"}"#, Sends),
        ("git_push", r#"{"path":"/r","force":true}"#, Destroys),
        ("git_push", r#"{"path":"/r","forceWithLease":true}"#, Destroys),
        ("git_branch", r#"{"operation":"delete","name":"old"}"#, Destroys),
        ("git_branch", r#"{"operation":"create","name":"delete"}"#, Writes),
        ("git_reset", r#"{"mode":"soft"}"#, Destroys),
        ("kubectl_scale", r#"{"name":"web","replicas":0}"#, Destroys),
        ("kubectl_scale", r#"{"name":"web","replicas":3}"#, Writes),
        ("kubectl_apply", r#"{"manifest":"spec:\n  privileged: true"}"#, GivesAccess),
        ("kubectl_apply", r#"{"manifest":"{\"spec\": {\"hostNetwork\": true}}"}"#, GivesAccess),
        ("create-container", r#"{"image":"nginx"}"#, Runs),
        ("create-container", r#"{"image":"nginx","volumes":{"/":{"bind":"/host"}}}"#, GivesAccess),
        ("create-container", r#"{"image":"nginx","volumes":["/:/host:rw"]}"#, GivesAccess),
        ("create-container", r#"{"image":"nginx","binds":["/etc:/e"]}"#, GivesAccess),
        ("create-container", r#"{"image":"nginx","volumes":["/srv/data:/data"]}"#, Runs),
        ("run_container", r#"{"image":"nginx","privileged":true}"#, GivesAccess),
        ("run_code", r#"{"code":"print(1 + 1)"}"#, Runs),
        ("run_code", r#"{"code":"import os\nos.remove('a')"}"#, Destroys),
        ("run_code", r#"{"code":"fs.rmSync('a', {recursive: true})"}"#, Destroys),
        ("run_command", r#"{"command":"ls -l"}"#, Runs),
        ("run_command", r#"{"command":"cd a && git clean -fdx"}"#, Destroys),
        ("run_command", r#"{"command":"sudo /bin/rm a"}"#, Destroys),
        ("run_command", r#"{"command":"git -C a branch -D old"}"#, Destroys),
        ("run_command", r#"{"command":"echo $(git push origin main)"}"#, Sends),
        ("run_command", r#"{"command":"bash -lc 'cd a && git clean -fdx'"}"#, Destroys),
        ("run_command", r#"{"command":"timeout 5 sudo -u bob rm a"}"#, Destroys),
        ("run_command", r#"{"command":"find . -name a -exec rm {} +"}"#, Destroys),
        ("run_command", r#"{"command":"redis-cli FLUSHALL"}"#, Destroys),
        ("run_command", r#"{"command":"git log --grep rm"}"#, Runs),
        ("run_command", r#"{"command":"sh -c 'git log --grep rm'"}"#, Runs),
        ("send_email", r#"{"to":"a@example.com","body":"hello"}"#, Sends),
        ("http_post", r#"{"url":"https://example.com/","body":"a"}"#, Sends),
        ("http_request", r#"{"method":"PUT","url":"https://example.com/a"}"#, Sends),
        ("http_request", r#"{"method":"GET","url":"https://example.com/a"}"#, Writes),
        ("slack_post_message", r#"{"text":"hello"}"#, Sends),
        ("merge_pull_request", r#"{"number":3}"#, Sends),
        ("slack_reply_to_thread", r#"{"text":"hello"}"#, Sends),
        ("transfer_money", r#"{"amount":5}"#, Spends),
        ("place_order", r#"{"item":"book"}"#, Spends),
        ("read_then_delete", "{}", Destroys),
        ("get_or_create_user", "{}", GivesAccess),
        ("find_and_count", "{}", Reads),
        ("list_orders", r#"{"sort":"order"}"#, Reads),
        ("invite_user", r#"{"email":"a@example.com"}"#, GivesAccess),
        ("add_ssh_key", r#"{"key":"ssh-ed25519 AAAA"}"#, GivesAccess),
        ("get-env", "{}", GivesAccess),
        ("delete_paragraph", r#"{"index":1}"#, Destroys),
        ("add_heading", r#"{"text":"Offer"}"#, Writes),
        ("write_file", r#"{"path":"/a","content":"privileged: true","volumes":"/"}"#, Writes),
        ("write_note", r#"{"title":"Garden","overwrite":true}"#, Destroys),
        ("http_request", r#"{"method":"DELETE","url":"https://example.com/a"}"#, Destroys),
        ("list_events", r#"{"action":"delete","force":true,"replicas":0}"#, Reads),
    ] {
        assert_eq!(effect(name, "{}", arguments), Some(expected), "{name} {arguments}");
    }
}

#[test]
fn hints_of_a_server_make_no_effect_better() {
    let harmless = r#"{"readOnlyHint":true,"destructiveHint":false}"#;
    for name in ["delete_repo", "transfer_money", "drop_table", "wipe_disk", "send_mail", "invite_user"] {
        assert!(effect(name, harmless, "{}") >= Some(CallEffect::Sends), "{name}");
    }
    let destructive = r#"{"destructiveHint":true}"#;
    assert_eq!(effect("kubectl_apply", destructive, "{}"), Some(CallEffect::Destroys));
    assert_eq!(effect("frobnicate", destructive, "{}"), Some(CallEffect::Destroys));
    assert_eq!(effect("browser_click", destructive, "{}"), Some(CallEffect::Writes));
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
