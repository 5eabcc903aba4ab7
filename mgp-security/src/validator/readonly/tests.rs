use proptest::prelude::*;

use super::*;
use crate::doubles::cases;
use crate::validator::sandbox::check_command_reads;

// covers: MGP-4.5-02
#[test]
fn only_methods_that_read_pass() {
    for method in ["GET", "HEAD", "OPTIONS", "get"] {
        assert_eq!(check_http_method(method), Ok(()), "{method}");
    }
    for method in ["POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE", "", " GET", "GET\r\n", "ＧＥＴ"] {
        assert!(check_http_method(method).is_err(), "{method:?}");
    }
}

// covers: MGP-4.5-02
#[test]
fn the_first_verb_of_a_name_decides() {
    for name in [
        "get_updates", "list_deleted_items", "readWritten", "read-file", "search", "issue_read",
        "pull_request_read", "repo.list_commits", "getHTTPResponse", "HTTPGetStatus", "is_locked",
        "can_delete_user", "find_and_count", "email_search",
    ] {
        assert_eq!(check_tool_name(name, None), Ok(()), "{name}");
    }
    for name in [
        "create_issue", "deleteUser", "delete-item", "UpdateRecord", "write_file", "send_email",
        "email_send", "issue_write", "run_command", "execute_sql", "git_push", "merge_branch",
        "merge_pull_request", "move_file", "get_or_create_user", "search_and_replace", "read_then_delete",
        "check_out", "HTTPPost", "ｄｅｌｅｔｅ_item", "set2fa", "weather", "", "удалить",
    ] {
        assert!(check_tool_name(name, None).is_err(), "{name}");
    }
}

#[test]
fn a_server_may_refuse_its_tool_and_vouch_only_for_a_name_that_says_nothing() {
    let said = |read_only, destructive| {
        let mut annotations = ToolAnnotations::default();
        annotations.read_only_hint = read_only;
        annotations.destructive_hint = destructive;
        annotations
    };
    assert_eq!(check_tool_name("weather", Some(&said(Some(true), None))), Ok(()));
    assert!(check_tool_name("weather", Some(&said(None, None))).is_err());
    assert!(check_tool_name("delete_item", Some(&said(Some(true), None))).is_err());
    assert!(check_tool_name("get_item", Some(&said(Some(false), None))).is_err());
    assert!(check_tool_name("get_item", Some(&said(None, Some(true)))).is_err());
    assert_eq!(check_tool_name("get_item", Some(&said(Some(true), Some(true)))), Ok(()));
}

fn command(line: &str) -> Result<(), Finding> {
    // Words are parted by spaces; `_` stands for a space inside of one.
    let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
    check_command_reads(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

// covers: MGP-4.5-02
#[test]
fn every_row_of_the_table_reads_or_is_refused() {
    for (verdict, line) in cases(include_str!("commands.txt")) {
        assert_eq!(command(&line).is_ok(), verdict == "reads", "{line}");
    }
    assert!(check_command_reads(&[]).is_err());
}

#[test]
fn long_scripts_and_names_cost_no_stack() {
    let braces = "{".repeat(100_000);
    assert!(check_command_reads(&["sed", &braces, "file"]).is_ok());
    assert!(check_tool_name(&"get".repeat(100_000), None).is_err());
}

proptest! {
    #[test]
    fn no_command_or_name_panics(
        words in prop::collection::vec("(-{0,2}[a-zA-Z=]{0,4}|git|curl|sed|find|sort|.{0,8}|[s/;wep{}!,0-9]{0,12})", 0..5),
        name in ".*",
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let _ = check_command_reads(&words);
        for program in ["git", "curl", "sed", "find", "sort", "date"] {
            let mut argv = vec![program];
            argv.extend(&words);
            let _ = check_command_reads(&argv);
        }
        let _ = check_tool_name(&name, None);
        let _ = check_http_method(&name);
    }
}
